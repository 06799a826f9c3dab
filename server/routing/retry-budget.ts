/** The budgets of a model's additional attempts: retries and hedged requests. */

const share = 0.2;
const reservePerSecond = 5;
const seconds = 10;
const reserve = reservePerSecond * seconds;

/** Up to this many retries within `burstMs` start at once; further ones are spread out with jitter. */
const burst = 4;
const burstMs = 100;

/**
 * Retry budget: when everything fails, retries do not multiply the load. Every request earns a fifth of a retry. A few
 * retries per second are free, so that clients with little traffic have some. The share and the ten-second window are
 * Finagle's (finagle.github.io/blog/2016/02/08/retry-budgets); the reserve is half of Finagle's.
 */
export class RetryBudget {
  readonly #earned = new Uint32Array(seconds);
  readonly #spent = new Uint32Array(seconds);
  #second = 0;
  #earnedSum = 0;
  #spentSum = 0;
  #burstSince = 0;
  #burst = 0;

  /** Counts a request. */
  earn(now: number): void {
    this.#advance(now);
    const at = this.#second % seconds;
    this.#earned[at] = (this.#earned[at] as number) + 1;
    this.#earnedSum++;
  }

  /** The delay in milliseconds before the retry, 0 unless there is a burst. Undefined: no retry is allowed. */
  take(now: number, random: () => number): number | undefined {
    if (!this.spend(now)) return undefined;
    const since = now - this.#burstSince;
    if (since < 0 || since >= burstMs) {
      this.#burstSince = now;
      this.#burst = 0;
    }
    this.#burst++;
    return this.#burst <= burst ? 0 : random() * burstMs;
  }

  /** Takes one retry without a delay, as for a hedge. False: none is left. */
  spend(now: number): boolean {
    this.#advance(now);
    if (this.#spentSum + 1 > reserve + this.#earnedSum * share) return false;
    const at = this.#second % seconds;
    this.#spent[at] = (this.#spent[at] as number) + 1;
    this.#spentSum++;
    return true;
  }

  #advance(now: number): void {
    const second = Math.max(0, Math.floor(now / 1000));
    if (second === this.#second) return;
    const passed = second - this.#second;
    // A clock that jumps back refunds nothing: taken retries count until the clock has passed their time again.
    if (passed < 0 && passed > -seconds) return;
    this.#second = second;
    const expired = passed < 0 ? seconds : Math.min(passed, seconds);
    for (let back = 0; back < expired; back++) {
      const at = (second + seconds - back) % seconds;
      this.#earnedSum -= this.#earned[at] as number;
      this.#spentSum -= this.#spent[at] as number;
      this.#earned[at] = 0;
      this.#spent[at] = 0;
    }
  }
}

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

  /** False: the budget is used up. */
  spend(): boolean {
    if (this.#available < 1) return false;
    this.#available--;
    return true;
  }
}
