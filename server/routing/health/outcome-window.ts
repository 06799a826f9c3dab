/** Sliding window over a target's latest outcomes, bounded by count and age, for its failure rate. */

const kept = 64;
const maxAgeMs = 300_000;

export class OutcomeWindow {
  readonly #times = new Float64Array(kept);
  readonly #failed = new Uint8Array(kept);
  #added = 0;

  add(now: number, good: boolean): void {
    const at = this.#added % kept;
    this.#times[at] = now;
    this.#failed[at] = good ? 0 : 1;
    this.#added++;
  }

  count(now: number): number {
    let count = 0;
    for (let at = 0; at < Math.min(this.#added, kept); at++) if (this.#counts(at, now)) count++;
    return count;
  }

  /** The share of failures. 0 without outcomes. */
  failureRate(now: number): number {
    let [count, bad] = [0, 0];
    for (let at = 0; at < Math.min(this.#added, kept); at++) {
      if (!this.#counts(at, now)) continue;
      count++;
      bad += this.#failed[at] as number;
    }
    return count === 0 ? 0 : bad / count;
  }

  clear(): void {
    this.#added = 0;
  }

  #counts(at: number, now: number): boolean {
    return now - (this.#times[at] as number) < maxAgeMs;
  }
}
