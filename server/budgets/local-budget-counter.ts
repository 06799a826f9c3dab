/** Budget counter of this process: sums in memory, loaded from the ledger. */
import type { Budget } from "../lib/budget.ts";
import { type BudgetCounter, type Threshold, thresholds } from "./budget-counters.ts";

/** Floating-point sums are slightly off, which must not refuse the tenth of ten requests that fit. */
const tolerance = 1e-9;

export class LocalBudgetCounter implements BudgetCounter {
  readonly id: string;
  #spent: number;
  /** The configured budget for which `spent` was last loaded from the ledger. */
  loadedFor: Budget;
  #reserved = 0;
  #open = 0;
  #underReserved = 0;
  /** The highest reported threshold, and the limit that it belongs to. */
  #reported: Threshold | 0 = 0;
  #limit: number | undefined;

  constructor(id: string, spent: number, loadedFor: Budget) {
    this.id = id;
    this.#spent = spent;
    this.loadedFor = loadedFor;
  }

  get spent(): number {
    return this.#spent;
  }

  /** Replaces the sum by the one in the ledger. */
  load(spent: number, loadedFor: Budget): void {
    this.#spent = spent;
    this.loadedFor = loadedFor;
  }

  spend(dollars: number): void {
    this.#spent += dollars;
  }

  get reserved(): number {
    return this.#reserved;
  }

  get hasUnderReserved(): boolean {
    return this.#underReserved > 0;
  }

  /** No request is in flight, so the ledger holds the same sum. */
  get isIdle(): boolean {
    return this.#open === 0;
  }

  /**
   * A threshold was reported that `spent` alone would not show as reached; if this counter were evicted, it would be
   * reported twice.
   */
  get hasUnderivableThresholds(): boolean {
    return this.#limit !== undefined && this.#reported > highestThreshold(this.spent, this.#limit);
  }

  wouldExceed(dollars: number | undefined, limit: number): boolean {
    return exceeds(this.#spent + this.#reserved, dollars, limit);
  }

  isExhaustedFor(dollars: number | undefined, limit: number): boolean {
    return exceeds(this.spent, dollars, limit);
  }

  lease(_maxDollars: number, _dollars: number, _limit: number): Promise<void> | undefined {
    return undefined;
  }

  reserve(dollars: number, mayExceedReservation: boolean): void {
    this.#reserved += dollars;
    this.#open++;
    if (mayExceedReservation) this.#underReserved++;
  }

  release(dollars: number, mayExceedReservation: boolean): void {
    this.#open--;
    if (mayExceedReservation) this.#underReserved--;
    // Without reservations the sum is exactly 0, free of rounding errors.
    this.#reserved = this.#open === 0 ? 0 : Math.max(0, this.#reserved - dollars);
  }

  watch(limit: number): void {
    if (this.#limit === limit) return;
    const reached = highestThreshold(this.spent, limit);
    // After the limit is lowered, newly reached thresholds are reported. After it is raised, thresholds can be reported
    // again.
    if (this.#limit === undefined || reached < this.#reported) this.#reported = reached;
    this.#limit = limit;
  }

  newThresholds(limit: number): Threshold[] {
    this.watch(limit);
    return this.#report(highestThreshold(this.spent, limit));
  }

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
