/** What one key or project has spent in one period, and what is held for its calls under way. US dollars. */

import type { Budget } from "../lib/budget.ts";

/** Sums of many small numbers are off by a hair, which must not refuse the tenth of ten calls that fit. */
const hair = 1e-9;

/** Told of when they are reached, in percent. */
export const thresholds = [50, 80, 100] as const;
export type Threshold = (typeof thresholds)[number];

export class Purse {
  spent: number;
  /** The budget that it was last looked at for, as the configuration had it then. */
  seenFor: Budget;
  #reserved = 0;
  #open = 0;
  #stretched = 0;
  /** Up to where people have been told, and of which limit. */
  #told: Threshold | 0 = 0;
  #limit: number | undefined;

  constructor(spent: number, seenFor: Budget) {
    this.spent = spent;
    this.seenFor = seenFor;
  }

  get reserved(): number {
    return this.#reserved;
  }

  /** A call is under way that may cost more than is held for it. */
  get isStretched(): boolean {
    return this.#stretched > 0;
  }

  /** No call of it is under way: what it holds, the ledger knows too. */
  get isIdle(): boolean {
    return this.#open === 0;
  }

  /** More was told than anyone could see from what is spent, and would be told again by one who does not know. */
  get hasToldMore(): boolean {
    return this.#limit !== undefined && this.#told > reachedOf(this.spent, this.#limit);
  }

  /** Whether so much more would be too much. Undefined: nobody knows how much more it will be. */
  isTooSmallFor(dollars: number | undefined, limit: number): boolean {
    return isTooMuch(this.spent + this.#reserved, dollars, limit);
  }

  /** The same, even if all calls under way turned out to cost nothing. */
  isSpentFor(dollars: number | undefined, limit: number): boolean {
    return isTooMuch(this.spent, dollars, limit);
  }

  /** `stretched`: it may cost more. */
  reserve(dollars: number, stretched: boolean): void {
    this.#reserved += dollars;
    this.#open++;
    if (stretched) this.#stretched++;
  }

  /** The same as `reserve` was told. */
  free(dollars: number, stretched: boolean): void {
    this.#open--;
    if (stretched) this.#stretched--;
    // Nothing is held for nobody, to the last digit.
    this.#reserved = this.#open === 0 ? 0 : Math.max(0, this.#reserved - dollars);
  }

  /** Whatever was reached before anyone looked has been told of: by an earlier process, say. */
  watch(limit: number): void {
    if (this.#limit === limit) return;
    const reached = reachedOf(this.spent, limit);
    // Of a smaller limit more is reached, and that is news; of a larger one less, and it will be news again.
    if (this.#limit === undefined || reached < this.#told) this.#told = reached;
    this.#limit = limit;
  }

  /** What is reached by now and was not told of yet. */
  news(limit: number): Threshold[] {
    this.watch(limit);
    return this.#tell(reachedOf(this.spent, limit));
  }

  /** A call was refused for good. Where half is spent and more, that is how the end of it looks: what is left is of no use. */
  newsOfRefusal(limit: number): Threshold[] {
    const news = this.news(limit);
    return this.#told >= 50 ? [...news, ...this.#tell(100)] : news;
  }

  #tell(reached: Threshold | 0): Threshold[] {
    // Nearly always: this is asked after each call.
    if (reached <= this.#told) return [];
    const news = thresholds.filter((percent) => percent > this.#told && percent <= reached);
    this.#told = reached;
    return news;
  }
}

const isTooMuch = (taken: number, more: number | undefined, limit: number): boolean =>
  more === undefined ? taken >= limit : taken + more > limit * (1 + hair);

function reachedOf(spent: number, limit: number): Threshold | 0 {
  if (spent <= 0) return 0;
  const isReached = (percent: Threshold): boolean => spent * (1 + hair) >= limit * (percent / 100);
  return thresholds.findLast(isReached) ?? 0;
}
