/** Works a pile off from the top, some at a time. Work may put more on the pile. */

/**
 * Settles when nothing is running any more: after the first failure no more is taken, and that failure is thrown.
 * No recursion and no promise for what still waits, so the pile may be as high as it likes.
 */
export function runConcurrently<T>(
  pile: T[],
  maxParallel: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let running = 0;
  let failure: { readonly error: unknown } | undefined;
  const take = (): void => {
    while (!failure && running < maxParallel && pile.length > 0) {
      running++;
      work(pile.pop() as T).then(done, fail);
    }
    if (running > 0) return;
    if (failure) reject(failure.error);
    else resolve();
  };
  const done = (): void => {
    running--;
    take();
  };
  const fail = (error: unknown): void => {
    failure ??= { error };
    done();
  };
  take();
  return promise;
}
