/** Hedge budget of a model, and the latency window whose p95 triggers a hedge. */

const kept = 128;
/** With fewer latencies the percentiles are not known. */
const enough = 20;

/** The latest latencies. Sorted only every 16 additions: percentiles do not change from request to request. */
export class LatencyWindow {
  readonly #times = new Float64Array(kept);
  #count = 0;
  #p95: number | undefined;
  #p99: number | undefined;

  add(ms: number): void {
    this.#times[this.#count % kept] = ms;
    this.#count++;
    if (this.#count >= enough && this.#count % 16 === 0) this.#p95 = undefined;
  }

  /** Undefined with too few latencies. */
  p95(): number | undefined {
    if (this.#count < enough) return undefined;
    if (this.#p95 === undefined) this.#look();
    return this.#p95;
  }

  p99(): number | undefined {
    if (this.#count < enough) return undefined;
    if (this.#p95 === undefined) this.#look();
    return this.#p99;
  }

  #look(): void {
    const times = this.#times.slice(0, Math.min(this.#count, kept)).sort();
    this.#p95 = times[Math.floor(times.length * 0.95)];
    this.#p99 = times[Math.floor(times.length * 0.99)];
  }
}

/** Every request earns a share of a hedge; unused hedges accumulate up to `most`. */
export class HedgeBudget {
  readonly #share: number;
  readonly #most: number;
  #saved = 0;

  constructor(share: number, most = 10) {
    this.#share = share;
    this.#most = most;
  }

  earn(): void {
    this.#saved = Math.min(this.#most, this.#saved + this.#share);
  }

  spend(): boolean {
    if (this.#saved < 1) return false;
    this.#saved--;
    return true;
  }
}
