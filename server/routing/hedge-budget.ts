/** How long a target took lately, and how much may be spent on impatience. */

const kept = 128;
/** With fewer, what is usual is not known yet. */
const enough = 20;

/** The last so many times. Sorted anew only now and then: what is usual does not change from call to call. */
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

  /** Nineteen of twenty were quicker. Undefined while too little is known. */
  p95(): number | undefined {
    if (this.#count < enough) return undefined;
    if (this.#p95 === undefined) this.#look();
    return this.#p95;
  }

  /** Ninety-nine of a hundred were quicker. */
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

/** Every call earns a share of an extra one; what is not spent adds up to a few and no more. */
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
