/**
 * The counters behind budgets. They are synchronous and local: a request checks and reserves in all of its budgets in
 * one step, without I/O. Shared counters (distributed budgets) reserve from slices that they lease in the background.
 * `test/budgets/budget-counters.laws.ts` has the laws (contract tests) that every implementation must obey.
 */
import type { BudgetedOwner } from "../lib/budget.ts";

/** Thresholds that cause an event, in percent. */
export const thresholds = [50, 80, 100] as const;
export type Threshold = (typeof thresholds)[number];

/** What one key or project has spent in one period, and what is reserved for its requests in flight. US dollars. */
export interface BudgetCounter {
  readonly spent: number;
  readonly reserved: number;
  /** A request is in flight that may cost more than is reserved for it. */
  readonly hasUnderReserved: boolean;
  /** Whether `dollars` more would exceed the limit. Undefined: the cost is not known. */
  wouldExceed(dollars: number | undefined, limit: number): boolean;
  /** Whether `dollars` more would exceed the limit even if all requests in flight cost nothing. */
  isExhaustedFor(dollars: number | undefined, limit: number): boolean;
  /**
   * Shared counters: leases `maxDollars`, or at least `dollars`, for one more request. Resolves when they are leased, or
   * cannot be leased. Undefined: there is nothing to lease now.
   */
  lease(maxDollars: number, dollars: number, limit: number): Promise<void> | undefined;
  /** `mayExceedReservation`: the request may cost more than is reserved. */
  reserve(dollars: number, mayExceedReservation: boolean): void;
  /** With the same arguments as `reserve`. */
  release(dollars: number, mayExceedReservation: boolean): void;
  /** Adds the cost of a request whose reservation was released. */
  spend(dollars: number): void;
  /** Thresholds that were reached before the first call count as reported, for example by an earlier process. */
  watch(limit: number): void;
  /** Thresholds that are reached and not yet reported. */
  newThresholds(limit: number): Threshold[];
  /**
   * A request was refused until the period ends. With half the budget spent, the 100 % threshold counts as reached: the
   * rest is too small to use.
   */
  thresholdsOnRefusal(limit: number): Threshold[];
}

export interface BudgetCounters {
  /** Several processes share the counters: what a request reserves must be leased. */
  readonly isShared: boolean;
  /**
   * The counter of an owner's budget in a period such as 2026-11-15, with what the ledger says was spent. While it has
   * reservations, it is always the same object. Throws if the ledger cannot be read.
   */
  counterOf(budgeted: BudgetedOwner, period: string): BudgetCounter;
  /** Whether `counterOf` would return this counter, unchanged. */
  isCurrent(counter: BudgetCounter, budgeted: BudgetedOwner, period: string): boolean;
  /** Bounds the memory. Only between requests: one that is in use must not be replaced by a second one. */
  evictIdle(): void;
}
