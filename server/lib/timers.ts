/** Timers as a parameter, so that a test can advance the time; sleeping, and waiting with a timeout. */

export interface Timers {
  start(ms: number, fire: () => void): unknown;
  stop(timer: unknown): void;
}

export const realTimers: Timers = {
  start: (ms, fire) => setTimeout(fire, ms),
  stop: (timer) => clearTimeout(timer as ReturnType<typeof setTimeout>),
};

/** Timers that do not keep the process running. */
export const backgroundTimers: Timers = {
  ...realTimers,
  start: (ms, fire) => setTimeout(fire, ms).unref(),
};

/** Sleeps for `ms` milliseconds. Rejects with the signal's reason when the signal aborts first. */
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

/** The promise's result, or undefined after `ms` milliseconds. */
export async function withTimeout<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  const { promise: timedOut, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, ms, undefined);
  try {
    return await Promise.race([promise, timedOut]);
  } finally {
    clearTimeout(timer);
  }
}
