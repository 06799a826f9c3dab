/**
 * Recently observed costs per image, for estimates with vendors that report the cost only afterwards. In memory only,
 * LRU-bounded.
 */

/** The weight of a higher earlier cost after each observation (exponential decay). */
const decay = 0.9;

export class ObservedCosts {
  readonly #max: number;
  /** US dollars per image. */
  readonly #costs = new Map<string, number>();

  constructor(max = 1000) {
    this.#max = max;
  }

  get(key: string): number | undefined {
    return this.#costs.get(key);
  }

  /** Overestimates rather than underestimates: a higher cost counts at once, a lower one gradually. */
  record(key: string, dollars: number): void {
    const before = this.#costs.get(key) ?? 0;
    this.#costs.delete(key);
    this.#costs.set(key, Math.max(dollars, before * decay + dollars * (1 - decay)));
    const [oldest] = this.#costs.keys();
    if (this.#costs.size > this.#max && oldest !== undefined) this.#costs.delete(oldest);
  }
}
