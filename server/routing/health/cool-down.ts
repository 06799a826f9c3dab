/** A while in which a target is left alone, because it asked for that or because its last answer makes asking useless. */

/** How long for one that says that it is too much, but not how long. */
const guessedMs = 1000;
const longestGuessMs = 30_000;
/** After this it is asked again, whatever it said: limits are raised, too. */
const longestToldMs = 300_000;
/** One that does not take the gateway's key, or has no credit. */
const refusedMs = 30_000;
const longestRefusedMs = 300_000;

const rateLimit = "its rate limit is reached";

export class CoolDown {
  /** The target itself said how long, so asking sooner is certain to be in vain. */
  told = false;
  /** For a person. */
  why = "";
  #until = 0;
  #lengthMs = 0;
  /** It said itself, when it served, that it will not serve more. */
  #spent = false;
  #limitedInARow = 0;
  #refusedInARow = 0;

  /** No clock is needed to see that nothing is going on. */
  get isOver(): boolean {
    return this.#until === 0;
  }

  /** Because of how much was asked, and not because it fails. */
  get isOfRate(): boolean {
    return this.why === rateLimit;
  }

  /** It did not take our key, or our credit, when it was last asked. */
  get isRefused(): boolean {
    return this.#refusedInARow > 0;
  }

  /** Milliseconds that are left. */
  leftMs(now: number): number {
    if (this.#until === 0) return 0;
    const left = this.#until - now;
    if (left <= 0) {
      this.#until = 0;
      return 0;
    }
    // A clock that jumped back must not make it longer.
    if (left > this.#lengthMs) this.#until = now + this.#lengthMs;
    return Math.min(left, this.#lengthMs);
  }

  /** It said that it is too much. */
  limited(now: number, waitMs: number | undefined): void {
    const guess = Math.min(longestGuessMs, guessedMs * 2 ** Math.min(this.#limitedInARow, 10));
    this.#limitedInARow++;
    this.begin(now, waitMs ?? guess, waitMs !== undefined, rateLimit);
  }

  /**
   * It served, and said that its limit is used up and when it is whole again. Some of it is there sooner: so others are
   * asked in its place, but where there is nobody else it is.
   */
  spent(now: number, waitMs: number): void {
    if (this.leftMs(now) >= waitMs) return;
    this.begin(now, waitMs, false, rateLimit);
    this.#spent = this.#until > 0;
  }

  refused(now: number, why: string): void {
    const wait = Math.min(longestRefusedMs, refusedMs * 2 ** Math.min(this.#refusedInARow, 10));
    this.#refusedInARow++;
    this.begin(now, wait, false, why);
  }

  begin(now: number, waitMs: number, told: boolean, why: string): void {
    const length = Math.min(waitMs, longestToldMs);
    // The longer one holds, and what the target said goes before what was guessed.
    if (this.leftMs(now) > length && (this.told || !told)) return;
    this.#lengthMs = length;
    this.#until = length > 0 ? now + length : 0;
    this.told = told;
    this.#spent = false;
    this.why = why;
  }

  /** It served a call. What it said itself holds all the same: others of its answers may be older. */
  served(): void {
    this.#limitedInARow = 0;
    this.#refusedInARow = 0;
    if (!this.told && !this.#spent) this.#until = 0;
  }
}
