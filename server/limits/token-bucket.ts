/**
 * A bucket that holds as much as a minute allows and fills up evenly, like those of OpenAI. All sums are of whole numbers,
 * so that nothing is lost or won by rounding: a part of it is one item in sixty thousand, and a millisecond brings in as many parts
 * as a minute brings items.
 */

const partsPerItem = 60_000;

export class TokenBucket {
  #limit: number;
  #parts: number;
  /** Whole milliseconds. */
  #at: number;

  /** `limit`: a whole number of items, at most 150 thousand million, for which all sums are exact. */
  constructor(limit: number, now: number) {
    this.#limit = limit;
    this.#parts = limit * partsPerItem;
    this.#at = Math.floor(now);
  }

  get limit(): number {
    return this.#limit;
  }

  /** Whole items that are there. What was used up beyond the limit leaves none. */
  remaining(now: number): number {
    this.#fill(now);
    return Math.max(0, Math.floor(this.#parts / partsPerItem));
  }

  /** Milliseconds until so many are there. 0: they are. Infinity: they never will be. */
  waitMs(count: number, now: number): number {
    if (count > this.#limit) return Infinity;
    this.#fill(now);
    return Math.max(0, Math.ceil((count * partsPerItem - this.#parts) / this.#limit));
  }

  /** Milliseconds until it is full. */
  msUntilFull(now: number): number {
    this.#fill(now);
    return Math.ceil((this.#limit * partsPerItem - this.#parts) / this.#limit);
  }

  /** Also more than there is: what was used is used, and whoever comes next waits for it. */
  take(count: number, now: number): void {
    this.#fill(now);
    this.#parts -= count * partsPerItem;
  }

  refund(count: number, now: number): void {
    this.#fill(now);
    this.#parts = Math.min(this.#limit * partsPerItem, this.#parts + count * partsPerItem);
  }

  /** As full as it was, in proportion: however often the limit changes, nothing is won by it. */
  resize(limit: number, now: number): void {
    this.#fill(now);
    const share = this.#parts / (this.#limit * partsPerItem);
    this.#limit = limit;
    if (this.#parts > 0) this.#parts = Math.floor(share * limit * partsPerItem);
  }

  /** A clock that goes back brings nothing in and takes nothing away: time counts on from there. */
  #fill(now: number): void {
    const at = Math.floor(now);
    if (at > this.#at) {
      const most = this.#limit * partsPerItem;
      this.#parts = Math.min(most, this.#parts + (at - this.#at) * this.#limit);
    }
    this.#at = at;
  }
}
