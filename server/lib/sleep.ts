/** Sleeps for `ms` milliseconds. Rejects with the signal's reason when the signal aborts first. */
import { realTimers, type Timers } from "./timers.ts";

export function sleep(ms: number, signal: AbortSignal, timers: Timers = realTimers): Promise<void> {
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
