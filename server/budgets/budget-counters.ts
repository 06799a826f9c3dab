/**
 * The counters behind budgets, and the thresholds of the event `budget.threshold`. They are synchronous and local: a
 * request checks and reserves in all of its budgets in one step, without I/O. Shared counters
 * (`shared-budget-counters.ts`) know the state as of the last reply of the shared budgets.
 * `test/budgets/budget-counters.laws.ts` has the laws (contract tests) that both must obey.
 */
import { periodNames, periods } from "../../contract/budget-periods.ts";
import {
  type Budget,
  type BudgetedOwner,
  type BudgetOwner,
  firstKeyId,
  isLabelOwner,
} from "../../contract/limits-and-budgets.ts";
import type { BudgetDemand, BudgetState } from "../storage/redis/limits-demand.ts";

/** Thresholds that cause an event, in percent. */
const thresholds = [50, 80, 100] as const;
type Threshold = (typeof thresholds)[number];

/** Rounding errors of floating-point sums must not refuse the tenth of ten requests that fit. */
const tolerance = 1e-9;

/** What a request has reserved in a budget, in US dollars. */
export interface ReservedAmount {
  readonly reserved: number;
  /** The request may cost more than is reserved. */
  readonly mayExceedReservation: boolean;
}

/** The estimated cost of work that outlives a process: every process reserves it under the same name. */
export interface StandingReservation {
  readonly hold: string;
  /** US dollars. */
  readonly dollars: number;
}

/** The part of a budget that replicas share: this process knows its state as of the last reply. */
export interface SharedBudget {
  demand(limit: number, maxDollars: number, dollars: number): BudgetDemand;
  accept(state: BudgetState): void;
  /** The request got this reservation. */
  keep(amount: ReservedAmount, hold: string): void;
}

/**
 * The US dollars that one key, project, end user or tag has spent in one period, and those reserved for its requests in
 * flight: sums in memory, loaded from the ledger.
 */
export class BudgetCounter {
  readonly id: string;
  #spent: number;
  /** The configured budget for which `spent` was last loaded from the ledger. */
  loadedFor: Budget;
  #reserved = 0;
  #standing = 0;
  #openReservations = 0;
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

  /** Adds the cost of a request whose reservation was released. */
  spend(dollars: number): void {
    this.#spent += dollars;
  }

  get reserved(): number {
    return this.#reserved + this.#standing;
  }

  /** The part of `reserved` that belongs to no request. */
  get standing(): number {
    return this.#standing;
  }

  /** Replaces all standing reservations. */
  setStanding(reservations: readonly StandingReservation[]): void {
    this.#standing = reservations.reduce((sum, { dollars }) => sum + dollars, 0);
  }

  /** A request is in flight that may cost more than is reserved for it. */
  get hasUnderReserved(): boolean {
    return this.#underReserved > 0;
  }

  /** No request is in flight, so the ledger holds the same sum. */
  get isIdle(): boolean {
    return this.#openReservations === 0 && this.#standing === 0;
  }

  /** Whether `dollars` more would exceed the limit. Undefined: the cost is not known. */
  wouldExceed(dollars: number | undefined, limit: number): boolean {
    return exceeds(this.#spent + this.reserved, dollars, limit);
  }

  /** Whether `dollars` more would exceed the limit even if all requests in flight cost nothing. */
  isExhaustedFor(dollars: number | undefined, limit: number): boolean {
    return exceeds(this.spent, dollars, limit);
  }

  /** The part that replicas share. Absent: the budget belongs to this process. */
  readonly shared?: SharedBudget;

  /** `mayExceedReservation`: the request may cost more than is reserved. */
  reserve(dollars: number, mayExceedReservation: boolean): void {
    this.#reserved += dollars;
    this.#openReservations++;
    if (mayExceedReservation) this.#underReserved++;
  }

  /** With the same arguments as `reserve`. */
  release(dollars: number, mayExceedReservation: boolean): void {
    this.#openReservations--;
    if (mayExceedReservation) this.#underReserved--;
    // Without reservations the sum is exactly 0, free of rounding errors.
    this.#reserved = this.#openReservations === 0 ? 0 : Math.max(0, this.#reserved - dollars);
  }

  /** The end of a request, with its cost. */
  settle(
    { reserved, mayExceedReservation }: ReservedAmount,
    dollars: number,
    _hold?: string,
  ): void {
    this.release(reserved, mayExceedReservation);
    if (dollars > 0) this.spend(dollars);
  }

  /** Thresholds that were reached before the first call count as reported, for example by an earlier process. */
  watch(limit: number): void {
    if (this.#limit === limit) return;
    const reached = highestThreshold(this.spent, limit);
    // After the limit is lowered, newly reached thresholds are reported. After it is raised, thresholds can be reported
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

export const exceeds = (used: number, additional: number | undefined, limit: number): boolean =>
  additional === undefined ? used >= limit : used + additional > limit * (1 + tolerance);

function highestThreshold(spent: number, limit: number): Threshold | 0 {
  if (spent <= 0) return 0;
  const isReached = (percent: Threshold): boolean =>
    spent * (1 + tolerance) >= limit * (percent / 100);
  return thresholds.findLast(isReached) ?? 0;
}

export interface BudgetCountersOptions {
  /** The sum in the ledger, including rows that are not yet written. `period`: such as 2026-11-15. */
  readonly spentBefore: (owner: BudgetOwner, period: string) => number;
  /** Reads the sums of end users and tags, for `spentBefore`. Absent: `spentBefore` needs no preparation. */
  readonly loadLabels?:
    | ((sums: readonly (BudgetOwner & { readonly period: string })[]) => Promise<void>)
    | undefined;
  /** The most counters in memory. Idle counters are evicted, and loaded from the ledger when they are needed again. */
  readonly maxCounters?: number;
}

/** The budget counters of this process. */
export class BudgetCounters {
  /** Whether a request is reserved in the budgets that replicas share, and not in this process. */
  get isShared(): boolean {
    return false;
  }

  protected readonly spentBefore: BudgetCountersOptions["spentBefore"];
  readonly #loadLabels: BudgetCountersOptions["loadLabels"];
  readonly #maxCounters: number;
  readonly #counters = new Map<string, BudgetCounter>();
  #withStanding: readonly BudgetCounter[] = [];

  constructor({ spentBefore, loadLabels, maxCounters = 20_000 }: BudgetCountersOptions) {
    this.#loadLabels = loadLabels;
    this.spentBefore = (owner, period) => spentBefore(chargedOwner(owner), period);
    this.#maxCounters = maxCounters;
  }

  /**
   * The counter of an owner's budget in a period such as 2026-11-15, with the amount spent according to the ledger.
   * While a counter has reservations, it is always the same object. Throws if the ledger cannot be read.
   */
  counterOf(budgeted: BudgetedOwner, period: string): BudgetCounter {
    const id = idOf(budgeted, period);
    const existing = this.#counters.get(id);
    if (existing?.loadedFor === budgeted.budget) return existing;
    const spent = this.spentBefore(budgeted, period);
    if (existing) {
      // After a reload: under the previous configuration requests may have been charged without this counter.
      existing.load(spent, budgeted.budget);
      return existing;
    }
    const counter = this.create(id, spent, budgeted.budget);
    this.#counters.set(id, counter);
    return counter;
  }

  /** Reads the sums of end users and tags that `counterOf` needs. Undefined: it needs none. */
  load(charged: readonly BudgetedOwner[], at: number): Promise<void> | undefined {
    if (!this.#loadLabels) return undefined;
    const names = periodNames(at);
    const lacking = charged.filter(isLabelOwner).flatMap((budgeted) =>
      periods
        .filter((period) => budgeted.budget[period] !== undefined)
        .filter((period) => this.#lacks(budgeted, names[period]))
        .map((period) => ({ ...chargedOwner(budgeted), period: names[period] })),
    );
    return lacking.length === 0 ? undefined : this.#loadLabels(lacking);
  }

  #lacks(budgeted: BudgetedOwner, period: string): boolean {
    const counter = this.#counters.get(idOf(budgeted, period));
    return counter?.loadedFor !== budgeted.budget || this.isStale(counter, budgeted);
  }

  /** Whether the sum of the ledger must be loaded again. */
  protected isStale(_counter: BudgetCounter, _owner: BudgetOwner): boolean {
    return false;
  }

  /** Replaces the standing reservations of all counters. */
  setStanding(reservations: ReadonlyMap<BudgetCounter, readonly StandingReservation[]>): void {
    for (const counter of this.#withStanding)
      if (!reservations.has(counter)) counter.setStanding([]);
    for (const [counter, own] of reservations) counter.setStanding(own);
    this.#withStanding = [...reservations.keys()];
  }

  protected create(id: string, spent: number, budget: Budget): BudgetCounter {
    return new BudgetCounter(id, spent, budget);
  }

  /**
   * Bounds the memory. A threshold that an evicted counter has reported may be reported again: its event has the same
   * deduplication key. Must not be called between `counterOf` and the reservation: a counter that is about to be used
   * must not be replaced by a second one.
   */
  evictIdle(): void {
    if (this.#counters.size < this.#maxCounters) return;
    for (const [id, counter] of this.#counters) if (counter.isIdle) this.#counters.delete(id);
  }
}

/** Rotated keys are charged like the first key of their line: they share its counters. */
export const chargedOwner = ({ scope, id }: BudgetOwner): BudgetOwner => ({
  scope,
  id: scope === "key" ? firstKeyId(id) : id,
});

const idOf = (owner: BudgetOwner, period: string): string => {
  const { scope, id } = chargedOwner(owner);
  return `${scope} ${period} ${id}`;
};
