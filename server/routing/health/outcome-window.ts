/** How a target's latest calls went: the last so many, and none that is long ago. */

const kept = 64;
const longAgoMs = 300_000;

export class OutcomeWindow {
  readonly #times = new Float64Array(kept);
  readonly #bad = new Uint8Array(kept);
  #added = 0;

  add(now: number, good: boolean): void {
    const at = this.#added % kept;
    this.#times[at] = now;
    this.#bad[at] = good ? 0 : 1;
    this.#added++;
  }

  count(now: number): number {
    let count = 0;
    for (let at = 0; at < Math.min(this.#added, kept); at++) if (this.#counts(at, now)) count++;
    return count;
  }

  /** The share of those that failed. 0 where nothing is known. */
  failing(now: number): number {
    let [count, bad] = [0, 0];
    for (let at = 0; at < Math.min(this.#added, kept); at++) {
      if (!this.#counts(at, now)) continue;
      count++;
      bad += this.#bad[at] as number;
    }
    return count === 0 ? 0 : bad / count;
  }

  clear(): void {
    this.#added = 0;
  }

  #counts(at: number, now: number): boolean {
    return now - (this.#times[at] as number) < longAgoMs;
  }
}
