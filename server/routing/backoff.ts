/**
 * Waits before a retry (backoff). Resolves after `ms`, or rejects with the signal's reason when it aborts.
 * `retry-policy.ts` computes `ms`: exponential backoff with jitter.
 */
import type { Timers } from "../lib/timers.ts";

export function backoff(ms: number, signal: AbortSignal, timers: Timers): Promise<void> {
  if (signal.aborted) return Promise.reject(signal.reason);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onAbort = (): void => {
    timers.stop(timer);
    signal.removeEventListener("abort", onAbort);
    reject(signal.reason);
  };
  const timer = timers.start(ms, () => {
    signal.removeEventListener("abort", onAbort);
    resolve();
  });
  signal.addEventListener("abort", onAbort);
  return promise;
}
