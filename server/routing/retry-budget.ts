/**
 * Retry budget and hedge budget of a model.
 *
 * Retry budget: when everything fails, retries do not multiply the load. Every request earns a fifth of a retry. A few
 * retries per second are free, so that clients with little traffic have some. The share and the ten-second window are
 * Finagle's (finagle.github.io/blog/2016/02/08/retry-budgets); the reserve is half of Finagle's.
 */

const retryShare = 0.2;
const reservePerSecond = 5;
const windowSeconds = 10;
const retryReserve = reservePerSecond * windowSeconds;

export class RetryBudget {
  readonly #earned = new Uint32Array(windowSeconds);
  readonly #spent = new Uint32Array(windowSeconds);
  #second = 0;
  #earnedSum = 0;
  #spentSum = 0;

  /** Counts a request. */
  earn(now: number): void {
    this.#advance(now);
    const at = this.#second % windowSeconds;
    this.#earned[at] = (this.#earned[at] as number) + 1;
    this.#earnedSum++;
  }

  /** Takes one retry. False: none is left. */
  spend(now: number): boolean {
    this.#advance(now);
    if (this.#spentSum + 1 > retryReserve + this.#earnedSum * retryShare) return false;
    const at = this.#second % windowSeconds;
    this.#spent[at] = (this.#spent[at] as number) + 1;
    this.#spentSum++;
    return true;
  }

  #advance(now: number): void {
    const second = Math.floor(now / 1000);
    if (second <= this.#second) return;
    const expired = Math.min(second - this.#second, windowSeconds);
    this.#second = second;
    for (let back = 0; back < expired; back++) {
      const at = (second + windowSeconds - back) % windowSeconds;
      this.#earnedSum -= this.#earned[at] as number;
      this.#spentSum -= this.#spent[at] as number;
      this.#earned[at] = 0;
      this.#spent[at] = 0;
    }
  }
}

const hedgeShare = 0.05;
const maxHedges = 10;

/** Hedge budget of a model: every request earns a twentieth of a hedge; up to ten unused hedges accumulate. */
export class HedgeBudget {
  #available = 0;

  earn(): void {
    this.#available = Math.min(maxHedges, this.#available + hedgeShare);
  }

  /** False: the budget is used up. */
  spend(): boolean {
    if (this.#available < 1) return false;
    this.#available--;
    return true;
  }
}
