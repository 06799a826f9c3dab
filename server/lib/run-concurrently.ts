/** Runs work on a stack of items with bounded concurrency. The work may push more items. */

/**
 * Settles when no work is running: after the first failure no further item is started, and that failure is thrown.
 * No recursion, and no promise for items that wait, so the stack may have any size.
 */
export function runConcurrently<T>(
  stack: T[],
  maxParallel: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let running = 0;
  let failure: { readonly error: unknown } | undefined;
  const startNext = (): void => {
    while (!failure && running < maxParallel && stack.length > 0) {
      running++;
      work(stack.pop() as T).then(done, fail);
    }
    if (running > 0) return;
    if (failure) reject(failure.error);
    else resolve();
  };
  const done = (): void => {
    running--;
    startNext();
  };
  const fail = (error: unknown): void => {
    failure ??= { error };
    done();
  };
  startNext();
  return promise;
}
