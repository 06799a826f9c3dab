/**
 * Shares of a bounded amount, such as memory or requests in flight, among API keys. One rule (the dynamic threshold of
 * Choudhury and Hahne): a key may hold at most as much as then stays free, or a multiple of it. One key alone gets half
 * of the amount, n keys get 1/(n+1) each, and a key that comes later finds some of it free.
 */
export class KeyShares {
  readonly #max: number;
  readonly #byKey = new Map<string, number>();
  #held = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** What all keys hold. */
  get held(): number {
    return this.#held;
  }

  get free(): number {
    return this.#max - this.#held;
  }

  /** The most that one key can hold, if no other key holds anything. */
  get largestShare(): number {
    return Math.floor(this.#max / 2);
  }

  heldBy(key: string): number {
    return this.#byKey.get(key) ?? 0;
  }

  /** `factor`: the key may hold this many times as much as then stays free. */
  mayTake(key: string, amount: number, factor = 1): boolean {
    return this.heldBy(key) + amount <= factor * (this.free - amount);
  }

  /** Does not check the share. */
  take(key: string, amount: number): void {
    this.#held += amount;
    this.#byKey.set(key, this.heldBy(key) + amount);
  }

  release(key: string, amount: number): void {
    this.#held -= amount;
    const left = this.heldBy(key) - amount;
    if (left > 0) this.#byKey.set(key, left);
    else this.#byKey.delete(key);
  }
}
