/** The 95th and the 99th percentile (p95, p99) of the latest latencies of one target. */

/** The number of latencies kept. */
const capacity = 128;
/** With fewer latencies the percentiles are unknown. */
const minimumCount = 20;
/** Percentiles are computed again after this many additions: they hardly change from request to request. */
const recomputeEvery = 16;

export class LatencyWindow {
  readonly #latencies = new Float64Array(capacity);
  #count = 0;
  #p95: number | undefined;
  #p99: number | undefined;

  add(ms: number): void {
    this.#latencies[this.#count % capacity] = ms;
    this.#count++;
    if (this.#count >= minimumCount && this.#count % recomputeEvery === 0) this.#p95 = undefined;
  }

  /** Undefined with too few latencies. */
  p95(): number | undefined {
    if (this.#count < minimumCount) return undefined;
    if (this.#p95 === undefined) this.#compute();
    return this.#p95;
  }

  p99(): number | undefined {
    if (this.#count < minimumCount) return undefined;
    if (this.#p95 === undefined) this.#compute();
    return this.#p99;
  }

  #compute(): void {
    const sorted = this.#latencies.slice(0, Math.min(this.#count, capacity)).sort();
    this.#p95 = sorted[Math.floor(sorted.length * 0.95)];
    this.#p99 = sorted[Math.floor(sorted.length * 0.99)];
  }
}
