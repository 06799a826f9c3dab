/**
 * Sampling of the requests to a model's only target. No other target could serve in its place, so while it is healthy a
 * sample is enough to know its latency and to notice a change; the other requests skip the measurement. The sample is
 * limited per time window, not per request: at low traffic every request is measured, at high traffic the cost is small.
 */
import type { Timers } from "../../lib/timers.ts";

/** The first requests are all measured. */
const alwaysMeasured = 32;
/** Then at most this many per window. */
const maxPerWindow = 10;
const windowMs = 100;

export class MeasurementSampling {
  /** The next request is measured. A plain field, because it is read for every request. */
  due = true;
  #taken = 0;
  #inWindow = 0;
  #all = false;

  /** A request is measured. */
  countMeasured(timers: Timers): void {
    if (this.#taken < alwaysMeasured) {
      this.#taken++;
      return;
    }
    if (this.#inWindow++ === 0) timers.start(windowMs, this.#begin);
    if (this.#inWindow >= maxPerWindow && !this.#all) this.due = false;
  }

  readonly #begin = (): void => {
    this.#inWindow = 0;
    this.due = true;
  };

  /** After a failure or a long silence every request is measured until one is answered. */
  measureAll(): void {
    this.#all = true;
    this.due = true;
  }

  measureSome(): void {
    this.#all = false;
  }
}
