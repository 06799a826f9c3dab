/** Waits for a while, or until the signal ends it: then it rejects with the signal's reason. */
import type { AbortSignalLike } from "./abort-signal.ts";

export function sleep(ms: number, signal: AbortSignalLike): Promise<void> {
  if (signal.aborted) return Promise.reject(signal.reason);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const leave = () => reject(signal.reason);
  const timer = setTimeout(resolve, ms);
  signal.addEventListener("abort", leave, { once: true });
  return promise.finally(() => {
    clearTimeout(timer);
    signal.removeEventListener("abort", leave);
  });
}
