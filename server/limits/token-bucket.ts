/**
 * Token bucket with the capacity of one minute and a continuous refill, like OpenAI's. All arithmetic is on integers,
 * so that rounding neither loses nor gains anything: a part is 1/60,000 of an item, so a limit of N items per minute
 * refills N parts per millisecond.
 */
import { rateWindowMs } from "../../contract/limits-and-budgets.ts";

const partsPerItem = rateWindowMs;

export class TokenBucket {
  #limit: number;
  #parts: number;
  /** The time of the last refill, in whole milliseconds. */
  #at: number;

  /** `limit`: a whole number of items, at most 150 billion, for which all sums are exact. */
  constructor(limit: number, now: number) {
    this.#limit = limit;
    this.#parts = limit * partsPerItem;
    this.#at = Math.floor(now);
  }

  get limit(): number {
    return this.#limit;
  }

  /** Whole items available; never negative. */
  remaining(now: number): number {
    this.#fill(now);
    return Math.max(0, Math.floor(this.#parts / partsPerItem));
  }

  /** Milliseconds until `count` items are available. Infinity: more than the bucket holds. */
  waitMs(count: number, now: number): number {
    if (count > this.#limit) return Infinity;
    this.#fill(now);
    return Math.max(0, Math.ceil((count * partsPerItem - this.#parts) / this.#limit));
  }

  /** The parts that a full bucket has more. */
  missing(now: number): number {
    this.#fill(now);
    return this.#limit * partsPerItem - this.#parts;
  }

  /** Replaces the state by one that another process has counted. */
  setMissing(parts: number, now: number): void {
    this.#parts = this.#limit * partsPerItem - parts;
    this.#at = Math.floor(now);
  }

  msUntilFull(now: number): number {
    this.#fill(now);
    return Math.ceil((this.#limit * partsPerItem - this.#parts) / this.#limit);
  }

  /** May take more than is available: actual usage always counts, and later requests wait for the refill. */
  take(count: number, now: number): void {
    this.#fill(now);
    this.#parts -= count * partsPerItem;
  }

  refund(count: number, now: number): void {
    this.#fill(now);
    this.#parts = Math.min(this.#limit * partsPerItem, this.#parts + count * partsPerItem);
  }

  /** Changes the limit and keeps the fill level in proportion, so that repeated changes of the limit gain nothing. */
  resize(limit: number, now: number): void {
    this.#fill(now);
    const share = this.#parts / (this.#limit * partsPerItem);
    this.#limit = limit;
    if (this.#parts > 0) this.#parts = Math.floor(share * limit * partsPerItem);
  }

  /** Refills for the elapsed time. */
  #fill(now: number): void {
    const at = Math.floor(now);
    const capacity = this.#limit * partsPerItem;
    this.#parts = Math.min(capacity, this.#parts + (at - this.#at) * this.#limit);
    this.#at = at;
  }
}
