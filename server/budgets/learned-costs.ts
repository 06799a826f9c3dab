/** What pictures of a model cost lately, for vendors that tell only afterwards. It is for estimates, and forgotten at the end. */

/** How much of a higher price of old stays with each later one. */
const memory = 0.9;

export class LearnedCosts {
  readonly #max: number;
  /** US dollars for each picture. */
  readonly #costs = new Map<string, number>();

  constructor(max = 1000) {
    this.#max = max;
  }

  of(what: string): number | undefined {
    return this.#costs.get(what);
  }

  /** Rather too much than too little: what is dearer counts at once, what is cheaper bit by bit. */
  learn(what: string, dollars: number): void {
    const before = this.#costs.get(what) ?? 0;
    this.#costs.delete(what);
    this.#costs.set(what, Math.max(dollars, before * memory + dollars * (1 - memory)));
    const [oldest] = this.#costs.keys();
    if (this.#costs.size > this.#max && oldest !== undefined) this.#costs.delete(oldest);
  }
}
