/**
 * Budget counter: what one key or project has spent in one period, and what is reserved for its requests in flight. US
 * dollars.
 */

import type { Budget } from "../lib/budget.ts";

/** Floating-point sums are slightly off, which must not refuse the tenth of ten requests that fit. */
const tolerance = 1e-9;

/** Thresholds that cause an event, in percent. */
export const thresholds = [50, 80, 100] as const;
export type Threshold = (typeof thresholds)[number];

export class BudgetCounter {
  spent: number;
  /** The configured budget for which `spent` was last loaded from the ledger. */
  loadedFor: Budget;
  #reserved = 0;
  #open = 0;
  #underReserved = 0;
  /** The highest reported threshold, and the limit that it belongs to. */
  #reported: Threshold | 0 = 0;
  #limit: number | undefined;

  constructor(spent: number, loadedFor: Budget) {
    this.spent = spent;
    this.loadedFor = loadedFor;
  }

  get reserved(): number {
    return this.#reserved;
  }

  /** A request is in flight that may cost more than is reserved for it. */
  get hasUnderReserved(): boolean {
    return this.#underReserved > 0;
  }

  /** No request is in flight, so the ledger holds the same sum. */
  get isIdle(): boolean {
    return this.#open === 0;
  }

  /** A threshold was reported that does not follow from `spent`: after an eviction it would be reported again. */
  get hasUnderivableThresholds(): boolean {
    return this.#limit !== undefined && this.#reported > highestThreshold(this.spent, this.#limit);
  }

  /** Whether `dollars` more would exceed the limit. Undefined: the cost is not known. */
  wouldExceed(dollars: number | undefined, limit: number): boolean {
    return exceeds(this.spent + this.#reserved, dollars, limit);
  }

  /** Whether `dollars` more would exceed the limit even if all requests in flight cost nothing. */
  isExhaustedFor(dollars: number | undefined, limit: number): boolean {
    return exceeds(this.spent, dollars, limit);
  }

  /** `mayExceedReservation`: the request may cost more than is reserved. */
  reserve(dollars: number, mayExceedReservation: boolean): void {
    this.#reserved += dollars;
    this.#open++;
    if (mayExceedReservation) this.#underReserved++;
  }

  /** With the same arguments as `reserve`. */
  release(dollars: number, mayExceedReservation: boolean): void {
    this.#open--;
    if (mayExceedReservation) this.#underReserved--;
    // Without reservations the sum is exactly 0, free of rounding errors.
    this.#reserved = this.#open === 0 ? 0 : Math.max(0, this.#reserved - dollars);
  }

  /** Thresholds that were reached before the first call count as reported, for example by an earlier process. */
  watch(limit: number): void {
    if (this.#limit === limit) return;
    const reached = highestThreshold(this.spent, limit);
    // A lower limit reaches new thresholds, which are reported; under a higher limit they can be reached, and reported,
    // again.
    if (this.#limit === undefined || reached < this.#reported) this.#reported = reached;
    this.#limit = limit;
  }

  /** Thresholds that are reached and not yet reported. */
  newThresholds(limit: number): Threshold[] {
    this.watch(limit);
    return this.#report(highestThreshold(this.spent, limit));
  }

  /**
   * A request was refused until the period ends. With half the budget spent, the 100 % threshold counts as reached: the
   * rest is too small to use.
   */
  thresholdsOnRefusal(limit: number): Threshold[] {
    const newlyReached = this.newThresholds(limit);
    return this.#reported >= 50 ? [...newlyReached, ...this.#report(100)] : newlyReached;
  }

  #report(reached: Threshold | 0): Threshold[] {
    // The usual case: this runs after each request.
    if (reached <= this.#reported) return [];
    const newlyReached = thresholds.filter(
      (percent) => percent > this.#reported && percent <= reached,
    );
    this.#reported = reached;
    return newlyReached;
  }
}

const exceeds = (used: number, additional: number | undefined, limit: number): boolean =>
  additional === undefined ? used >= limit : used + additional > limit * (1 + tolerance);

function highestThreshold(spent: number, limit: number): Threshold | 0 {
  if (spent <= 0) return 0;
  const isReached = (percent: Threshold): boolean =>
    spent * (1 + tolerance) >= limit * (percent / 100);
  return thresholds.findLast(isReached) ?? 0;
}
