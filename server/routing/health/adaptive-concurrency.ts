/**
 * Reduces the load of a target after it reports overload or a rate limit: its adaptive concurrency limit (AIMD), and
 * its cool-down.
 */
import { ConcurrencySlots } from "../../limits/concurrency-slots.ts";

const initialLimit = 16;
/** The lowest limit: a target that reports overload with fewer requests in flight is broken, not busy. */
export const minimumLimit = 4;
const maximumLimit = 4096;
const limitAfterRecovery = 8;
/** Several failures within this interval cause one decrease. */
const decreaseIntervalMs = 100;
/** How long after the last overload error the limit stays hard: shorter than the default queue timeout (5 s). */
export const hardLimitMs = 3000;
/** The multiplicative decrease. */
export const decreaseFactor = 0.7;
/**
 * The additive increase per request duration: slower while the limit is hard, as each request above capacity is
 * rejected.
 */
const [growth, hardLimitedGrowth] = [8, 2];

/** Concurrency slots without a limit, except for `hardLimitMs` after an overload error. */
class HardLimit extends ConcurrencySlots {
  /** Read for every request. */
  isImposed = false;
  #imposedAt = 0;

  constructor() {
    super(Number.POSITIVE_INFINITY);
  }

  impose(now: number, limit: number): void {
    this.isImposed = true;
    this.#imposedAt = now;
    this.limit = limit;
  }

  lift(): void {
    this.isImposed = false;
    this.limit = Number.POSITIVE_INFINITY;
  }

  override refresh(now: number): number {
    const since = now - this.#imposedAt;
    if (this.isImposed && since < hardLimitMs) return hardLimitMs - since;
    this.lift();
    return Number.POSITIVE_INFINITY;
  }
}

/**
 * Adaptive concurrency limit (AIMD): additive increase while the target keeps up, multiplicative decrease on overload.
 * The limit is advisory as a rule: above it other targets are preferred, and without another target the request is sent
 * anyway. It is hard for 3 s after the target reports overload (429 or 503): requests that it would only reject wait in
 * the fair queue and are then served.
 */
export class AdaptiveConcurrency {
  /** Counts the requests in flight. */
  readonly slots = new HardLimit();
  #limit = initialLimit;
  #loweredAt = Number.NEGATIVE_INFINITY;

  get limit(): number {
    return Math.floor(this.#limit);
  }

  get isHardLimited(): boolean {
    return this.slots.isImposed;
  }

  /** Another request would exceed the hard limit. */
  isFull(now: number): boolean {
    this.slots.refresh(now);
    return this.isHardLimited && (!this.slots.hasFreeSlot || this.slots.waiting > 0);
  }

  liftHardLimit(): void {
    this.slots.lift();
  }

  hasCapacity(): boolean {
    return this.slots.inFlight < this.#limit;
  }

  /** Additive increase after a response. */
  increase(): void {
    // A limit that is not nearly used has not been tested.
    if (this.slots.inFlight < this.#limit * 0.8) return;
    const more = (this.isHardLimited ? hardLimitedGrowth : growth) / this.#limit;
    this.#set(Math.min(maximumLimit, this.#limit + more));
  }

  /** Multiplicative decrease after a timeout. */
  onTimeout(now: number): void {
    const since = now - this.#loweredAt;
    if (since < decreaseIntervalMs) return;
    this.#loweredAt = now;
    this.#set(Math.max(minimumLimit, this.#limit * decreaseFactor));
  }

  /**
   * The target reported overload: the limit becomes hard. The capacity of the target is at most the requests that are
   * still in flight, so the new limit is 70% of them.
   */
  onOverload(now: number): void {
    const accepted = Math.max(minimumLimit, this.slots.inFlight * decreaseFactor);
    this.#limit = this.isHardLimited ? Math.min(this.#limit, accepted) : accepted;
    this.slots.impose(now, this.limit);
  }

  resetAfterRecovery(now: number): void {
    this.#set(Math.min(this.#limit, limitAfterRecovery));
    if (this.isHardLimited) this.slots.impose(now, this.limit);
  }

  #set(limit: number): void {
    this.#limit = limit;
    if (this.isHardLimited) this.slots.limit = this.limit;
  }
}

/** The cool-down after a rate limit error without `retry-after`. */
const defaultRateLimitMs = 1000;
const maxDefaultRateLimitMs = 30_000;
/** The longest cool-down, even if `retry-after` is longer: the target's limits may be raised meanwhile. */
export const maxCoolDownMs = 300_000;
/** After an error about the gateway's API key or credit. */
const refusedMs = 30_000;
const maxRefusedMs = 300_000;

const rateLimit = "its rate limit is reached";

/**
 * Cool-down of a target. If the target sent an error with a duration, such as `retry-after`, the target gets no
 * requests for that time. If the gateway guessed the duration, or the target reported with a success that its quota is
 * used up, the target gets only requests for which no healthy target is left.
 */
export class CoolDown {
  /** The target itself gave the duration, so an earlier request would certainly fail. */
  isExplicit = false;
  /** For the operator. */
  reason = "";
  #until = 0;
  /** The target served a request and reported that its quota is used up. */
  #exhausted = false;
  #limitedInARow = 0;
  #refusedInARow = 0;

  /**
   * No cool-down is set. The clock is not read: after the end of a cool-down, this is false until `leftMs` is called.
   */
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
    if (this.#until <= now) this.#until = 0;
    return Math.max(0, this.#until - now);
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
    // The longer cool-down wins. A shorter one replaces it only if the target gave the shorter and the gateway guessed
    // the longer duration.
    if (this.leftMs(now) > length && (this.isExplicit || !isExplicit)) return;
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
