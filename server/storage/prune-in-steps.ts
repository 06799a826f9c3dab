/**
 * Retention deletes in small steps with a pause after each: SQLite runs on the thread that serves requests, and a
 * statement of PostgreSQL has a time limit.
 */

/** Rows per step: a few milliseconds in SQLite. */
const stepRows = 500;
const pauseMs = 25;

/** Deletes at most `limit` rows. True: there may be more. */
type PruneStep = (limit: number) => Promise<boolean>;

export interface Pruning {
  /**
   * Runs steps until nothing is left to delete. Rejects with the error of a step; the next run continues. Does nothing
   * while an earlier run has not ended.
   */
  run(step: PruneStep): Promise<void>;
  /** No step begins afterwards. */
  stop(): void;
}

export function createPruning(): Pruning {
  let isRunning = false;
  let isStopped = false;
  return {
    async run(step) {
      if (isRunning || isStopped) return;
      isRunning = true;
      try {
        while (!isStopped && (await step(stepRows))) await Bun.sleep(pauseMs);
      } finally {
        isRunning = false;
      }
    },
    stop: () => {
      isStopped = true;
    },
  };
}
