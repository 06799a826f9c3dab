/** Recently observed costs per image, for estimates with vendors that report the cost only afterwards. In memory only, LRU-bounded. */

/** The weight of a higher earlier cost after each observation (exponential decay). */
const memory = 0.9;

export class ObservedCosts {
  readonly #max: number;
  /** US dollars per image. */
  readonly #costs = new Map<string, number>();

  constructor(max = 1000) {
    this.#max = max;
  }

  get(what: string): number | undefined {
    return this.#costs.get(what);
  }

  /** Overestimates rather than underestimates: a higher cost counts at once, a lower one gradually. */
  record(what: string, dollars: number): void {
    const before = this.#costs.get(what) ?? 0;
    this.#costs.delete(what);
    this.#costs.set(what, Math.max(dollars, before * memory + dollars * (1 - memory)));
    const [oldest] = this.#costs.keys();
    if (this.#costs.size > this.#max && oldest !== undefined) this.#costs.delete(oldest);
  }
}
