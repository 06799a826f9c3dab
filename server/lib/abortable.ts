/**
 * Stops waiting for work that cannot be canceled: the work continues, and the waiting code gets the signal's reason.
 */

export function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const onAbort = (): void => reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  work.then(resolve, reject);
  return promise.finally(() => signal.removeEventListener("abort", onAbort));
}
