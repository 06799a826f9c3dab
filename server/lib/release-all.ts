/** Releases several resources that belong together. */

/**
 * Starts every release, also after another has failed, and waits for all of them. Rejects with the failure, or with all
 * of them as an AggregateError, once the last release is over.
 */
export async function releaseAll(
  releases: readonly (() => Promise<unknown> | unknown)[],
): Promise<void> {
  const outcomes = await Promise.allSettled(releases.map(async (release) => release()));
  const failures = outcomes.flatMap((outcome) =>
    outcome.status === "rejected" ? [outcome.reason as unknown] : [],
  );
  if (failures.length === 1) throw failures[0];
  if (failures.length > 1) {
    throw new AggregateError(failures, `${failures.length} resources could not be released.`);
  }
}
