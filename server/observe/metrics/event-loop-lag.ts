/** Event loop lag: how much later than planned a timer fires, because other work kept the thread busy. */
import { Histogram } from "./instruments.ts";
import type { MetricSnapshot } from "./metric-snapshot.ts";

const intervalMs = 100;

export class EventLoopLag {
  readonly #histogram = new Histogram({
    name: "vexel_event_loop_lag_seconds",
    help: "How much later than planned a timer fires, measured every 100 ms.",
    labelNames: [],
    bounds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1],
  });
  readonly #timer: ReturnType<typeof setInterval>;

  /** `clock`: milliseconds, monotonic. */
  constructor(clock: () => number) {
    let plannedAt = clock() + intervalMs;
    this.#timer = setInterval(() => {
      const now = clock();
      this.#histogram.observe(Math.max(0, now - plannedAt) / 1000);
      plannedAt = now + intervalMs;
    }, intervalMs);
    this.#timer.unref();
  }

  snapshot(): MetricSnapshot {
    return this.#histogram.snapshot();
  }

  close(): void {
    clearInterval(this.#timer);
  }
}
