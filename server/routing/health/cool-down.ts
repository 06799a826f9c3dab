/**
 * Cool-down of a target: it gets no requests for a while, because it sent `retry-after` or because its last error makes
 * requests useless.
 */

/** The cool-down after a rate limit error without `retry-after`. */
const defaultRateLimitMs = 1000;
const maxDefaultRateLimitMs = 30_000;
/** The longest cool-down, even if `retry-after` is longer: the target's limits may be raised meanwhile. */
const maxCoolDownMs = 300_000;
/** After an error about the gateway's API key or credit. */
const refusedMs = 30_000;
const maxRefusedMs = 300_000;

const rateLimit = "its rate limit is reached";

export class CoolDown {
  /** The target itself gave the duration, so an earlier request would certainly fail. */
  isExplicit = false;
  /** For the operator. */
  reason = "";
  #until = 0;
  #lengthMs = 0;
  /** The target served a request and reported that its quota is used up. */
  #exhausted = false;
  #limitedInARow = 0;
  #refusedInARow = 0;

  /** Needs no clock. */
  get isOver(): boolean {
    return this.#until === 0;
  }

  /** Caused by a rate limit, and not by a failure. */
  get isForRateLimit(): boolean {
    return this.reason === rateLimit;
  }

  /** The target rejected the gateway's key or credit at the last request. */
  get isRefused(): boolean {
    return this.#refusedInARow > 0;
  }

  /** Milliseconds until the cool-down ends. */
  leftMs(now: number): number {
    if (this.#until === 0) return 0;
    const left = this.#until - now;
    if (left <= 0) {
      this.#until = 0;
      return 0;
    }
    // A clock that jumps back must not make the cool-down longer.
    if (left > this.#lengthMs) this.#until = now + this.#lengthMs;
    return Math.min(left, this.#lengthMs);
  }

  /** The target returned a rate limit error. */
  onRateLimit(now: number, waitMs: number | undefined): void {
    const defaultMs = Math.min(
      maxDefaultRateLimitMs,
      defaultRateLimitMs * 2 ** Math.min(this.#limitedInARow, 10),
    );
    this.#limitedInARow++;
    this.start(now, waitMs ?? defaultMs, waitMs !== undefined, rateLimit);
  }

  /**
   * The target served a request and reported that its quota is used up and when it is full again. Part of the quota is
   * back sooner, so other targets are preferred, but without another target it is still used.
   */
  onExhausted(now: number, waitMs: number): void {
    if (this.leftMs(now) >= waitMs) return;
    this.start(now, waitMs, false, rateLimit);
    this.#exhausted = this.#until > 0;
  }

  onRefused(now: number, reason: string): void {
    const wait = Math.min(maxRefusedMs, refusedMs * 2 ** Math.min(this.#refusedInARow, 10));
    this.#refusedInARow++;
    this.start(now, wait, false, reason);
  }

  start(now: number, waitMs: number, isExplicit: boolean, reason: string): void {
    const length = Math.min(waitMs, maxCoolDownMs);
    // The longer cool-down wins, and the target's own duration wins over a guess.
    if (this.leftMs(now) > length && (this.isExplicit || !isExplicit)) return;
    this.#lengthMs = length;
    this.#until = length > 0 ? now + length : 0;
    this.isExplicit = isExplicit;
    this.#exhausted = false;
    this.reason = reason;
  }

  /** The target served a request. A duration that it gave itself still holds: this response may be older. */
  onResponse(): void {
    this.#limitedInARow = 0;
    this.#refusedInARow = 0;
    if (!this.isExplicit && !this.#exhausted) this.#until = 0;
  }
}
