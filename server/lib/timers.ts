/** Timers, handed in so that a test can let a day pass in a moment. */

export interface Timers {
  start(ms: number, fire: () => void): unknown;
  stop(timer: unknown): void;
}

export const realTimers: Timers = {
  start: (ms, fire) => setTimeout(fire, ms),
  stop: (timer) => clearTimeout(timer as ReturnType<typeof setTimeout>),
};
