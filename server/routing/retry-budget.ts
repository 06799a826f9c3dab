/**
 * How much may be asked again. Every call allows for a fifth of a second try, and a few each second are free, so that
 * those who call rarely have some; but where everything fails, the load does not become a multiple of itself. The share,
 * the reserve and the ten seconds are Finagle's (finagle.github.io/blog/2016/02/08/retry-budgets), with half its reserve.
 */

const share = 0.2;
const reservePerSecond = 5;
const seconds = 10;
const reserve = reservePerSecond * seconds;

/** So many at once pass without delay; a crowd is spread out. */
const burst = 4;
const burstMs = 100;

export class RetryBudget {
  readonly #earned = new Uint32Array(seconds);
  readonly #spent = new Uint32Array(seconds);
  /** Calls that were made since, without anybody looking at a clock for them. */
  uncounted = 0;
  #second = 0;
  #earnedSum = 0;
  #spentSum = 0;
  #burstSince = 0;
  #burst = 0;

  /** A call was made. */
  earn(now: number): void {
    this.#advance(now);
    const calls = 1 + this.uncounted;
    this.uncounted = 0;
    const at = this.#second % seconds;
    this.#earned[at] = (this.#earned[at] as number) + calls;
    this.#earnedSum += calls;
  }

  /** Undefined: it may not be asked again. Else the milliseconds to wait before it is, which are none unless many do. */
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

  /** For a second question that is asked beside the first, and waits for nothing. */
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
    // A clock that jumped back gives nothing for free: what was spent is remembered until its time has passed again.
    if (passed < 0 && passed > -seconds) return;
    this.#second = second;
    const old = passed < 0 ? seconds : Math.min(passed, seconds);
    for (let back = 0; back < old; back++) {
      const at = (second + seconds - back) % seconds;
      this.#earnedSum -= this.#earned[at] as number;
      this.#spentSum -= this.#spent[at] as number;
      this.#earned[at] = 0;
      this.#spent[at] = 0;
    }
  }
}
