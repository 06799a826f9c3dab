/** Reduces the load of a target after it reports overload or a rate limit: its adaptive concurrency limit (AIMD). */
import { LocalSlots } from "../../limits/concurrency-slots.ts";

const initialLimit = 16;
/** The lowest limit: a target that reports overload with fewer requests in flight is broken, not busy. */
export const minimumLimit = 4;
const maximumLimit = 4096;
/** Several failures within this interval cause one decrease. */
const decreaseIntervalMs = 100;
/** How long after the last overload error the limit stays hard: shorter than the default queue timeout (5 s). */
const hardLimitMs = 3000;
/** The multiplicative decrease. */
const decreaseFactor = 0.7;
/**
 * The additive increase per request duration: slower while the limit is hard, as each request above capacity is
 * rejected.
 */
const [growth, hardLimitedGrowth] = [8, 2];

/** Concurrency slots without a limit, except for `hardLimitMs` after an overload error. */
class HardLimit extends LocalSlots {
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
    return this.isHardLimited && (!this.slots.mayTake || this.slots.waiting > 0);
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

  #set(limit: number): void {
    this.#limit = limit;
    if (this.isHardLimited) this.slots.limit = this.limit;
  }
}
