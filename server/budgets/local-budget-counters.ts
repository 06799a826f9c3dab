/** Budget counters of this process only, loaded from the ledger when they are first used. */
import type { Budget, BudgetedOwner, BudgetOwner } from "../lib/budget.ts";
import type { BudgetCounter, BudgetCounters } from "./budget-counters.ts";
import { LocalBudgetCounter } from "./local-budget-counter.ts";

export interface LocalBudgetCountersOptions {
  /** The sum in the ledger, including rows that are not yet written. `period`: such as 2026-11-15. */
  readonly spentBefore: (owner: BudgetOwner, period: string) => number;
  /** The limit of counters in memory. Idle ones are evicted and loaded from the ledger again. */
  readonly maxCounters?: number;
}

export class LocalBudgetCounters implements BudgetCounters {
  readonly isShared: boolean = false;
  protected readonly spentBefore: LocalBudgetCountersOptions["spentBefore"];
  readonly #maxCounters: number;
  readonly #counters = new Map<string, LocalBudgetCounter>();

  constructor({ spentBefore, maxCounters = 20_000 }: LocalBudgetCountersOptions) {
    this.spentBefore = spentBefore;
    this.#maxCounters = maxCounters;
  }

  counterOf(budgeted: BudgetedOwner, period: string): LocalBudgetCounter {
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

  protected create(id: string, spent: number, budget: Budget): LocalBudgetCounter {
    return new LocalBudgetCounter(id, spent, budget);
  }

  isCurrent(counter: BudgetCounter, { budget }: BudgetedOwner): boolean {
    return (
      counter instanceof LocalBudgetCounter &&
      counter.loadedFor === budget &&
      this.#counters.get(counter.id) === counter
    );
  }

  evictIdle(): void {
    for (const isEvictable of [isIdleAndDerivable, isIdle]) {
      if (this.#counters.size < this.#maxCounters) return;
      for (const [id, counter] of this.#counters)
        if (isEvictable(counter)) this.#counters.delete(id);
    }
  }
}

const idOf = ({ scope, id }: BudgetOwner, period: string): string => `${scope} ${period} ${id}`;

const isIdle = (counter: LocalBudgetCounter): boolean => counter.isIdle;

const isIdleAndDerivable = (counter: LocalBudgetCounter): boolean =>
  counter.isIdle && !counter.hasUnderivableThresholds;
