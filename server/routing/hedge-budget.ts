/** Hedge budget of a model: every request earns a share of a hedge; unused hedges accumulate up to `max`. */
export class HedgeBudget {
  readonly #share: number;
  readonly #max: number;
  #available = 0;

  constructor(share: number, max = 10) {
    this.#share = share;
    this.#max = max;
  }

  earn(): void {
    this.#available = Math.min(this.#max, this.#available + this.#share);
  }

  get hasHedge(): boolean {
    return this.#available >= 1;
  }

  /** False: the budget is used up. */
  spend(): boolean {
    if (!this.hasHedge) return false;
    this.#available--;
    return true;
  }
}
