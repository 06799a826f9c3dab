/**
 * Retention deletes in small steps with a pause after each: SQLite runs on the thread that serves requests, and a
 * statement of PostgreSQL has a time limit.
 */

/** Rows per step: a few milliseconds in SQLite. */
const stepRows = 500;
const pauseMs = 25;

/**
 * Runs steps until nothing is left to delete, or the signal aborts. A step deletes at most `limit` rows. True: there may
 * be more. Rejects with the error of a step.
 */
export async function pruneInSteps(
  signal: AbortSignal,
  step: (limit: number) => Promise<boolean>,
): Promise<void> {
  while (!signal.aborted && (await step(stepRows))) await Bun.sleep(pauseMs);
}
