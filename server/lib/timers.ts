/** Timers as a parameter, so that a test can advance the time. */

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
