/** Work that cannot be broken off, only no longer waited for: it goes on, and whoever waited hears the signal's reason. */
import type { AbortSignalLike } from "./abort-signal.ts";

export function abortable<T>(work: Promise<T>, signal: AbortSignalLike): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const leave = (): void => reject(signal.reason);
  if (signal.aborted) leave();
  signal.addEventListener("abort", leave, { once: true });
  work.then(resolve, reject);
  return promise.finally(() => signal.removeEventListener("abort", leave));
}
