/** Sliding window over a target's latest outcomes, bounded by count and age, for its failure rate. */

const capacity = 64;
const maxAgeMs = 300_000;

export class OutcomeWindow {
  readonly #times = new Float64Array(capacity);
  readonly #failed = new Uint8Array(capacity);
  #added = 0;

  add(now: number, succeeded: boolean): void {
    const at = this.#added % capacity;
    this.#times[at] = now;
    this.#failed[at] = succeeded ? 0 : 1;
    this.#added++;
  }

  count(now: number): number {
    let count = 0;
    for (let at = 0; at < Math.min(this.#added, capacity); at++) if (this.#counts(at, now)) count++;
    return count;
  }

  /** The share of failures. 0 without outcomes. */
  failureRate(now: number): number {
    let [count, failed] = [0, 0];
    for (let at = 0; at < Math.min(this.#added, capacity); at++) {
      if (!this.#counts(at, now)) continue;
      count++;
      failed += this.#failed[at] as number;
    }
    return count === 0 ? 0 : failed / count;
  }

  clear(): void {
    this.#added = 0;
  }

  #counts(at: number, now: number): boolean {
    return now - (this.#times[at] as number) < maxAgeMs;
  }
}
