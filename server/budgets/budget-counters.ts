/** The budget counters of this process, by owner and period. */
import { periodNames, periods } from "../../contract/budget-periods.ts";
import {
  type BudgetedOwner,
  type BudgetOwner,
  firstKeyId,
  isEndUserOrTag,
} from "../../contract/limits-and-budgets.ts";
import type { OwnerSpend, Spend } from "../ledger/spend.ts";
import { toNanos } from "../lib/nano-dollars.ts";
import type { OpenEntry } from "../storage/redis/shared-limits.ts";
import { BudgetCounter, type BudgetInPeriod, type BudgetLimiter } from "./budget-counter.ts";

export interface BudgetCountersOptions {
  readonly spend: Pick<Spend, "of" | "release">;
  /** Reads the sums of end users and tags. If absent, they are known. */
  readonly loadEndUsersAndTags?: ((owners: readonly OwnerSpend[]) => Promise<void>) | undefined;
  /** Undefined if each process counts for itself. */
  readonly limiter?: BudgetLimiter | undefined;
  /**
   * The process before was killed: it may have lost the events of thresholds that it had reached. They are emitted
   * again, and those that are known are no new events.
   */
  readonly isAfterKill?: boolean;
  /** The most counters in memory. Idle counters are evicted. */
  readonly maxCounters?: number;
}

/** How many counters are examined at a time. */
const examined = 16;

export class BudgetCounters {
  readonly #options: BudgetCountersOptions;
  /** Called when the spent amount may have changed. */
  onSpent: (budget: BudgetInPeriod) => void = () => undefined;
  #entries = 0;
  readonly #maxCounters: number;
  readonly #counters = new Map<string, BudgetCounter>();
  /** The counters that have entries of jobs, with the ids of these. */
  #ofJobs = new Map<BudgetCounter, ReadonlySet<string>>();

  constructor(options: BudgetCountersOptions) {
    this.#options = options;
    this.#maxCounters = options.maxCounters ?? 20_000;
  }

  /** The budgets of an owner at this time. Throws if the ledger cannot be read. */
  budgetsOf(budgeted: BudgetedOwner, at: number): BudgetInPeriod[] {
    const names = periodNames(at);
    return periods.flatMap((period): BudgetInPeriod[] => {
      const dollars = budgeted.budget[period];
      if (dollars === undefined) return [];
      const counter = this.#counterOf(budgeted, names[period]);
      const { budget } = counter;
      if (budget?.budgeted === budgeted) return [budget];
      const limit = toNanos(dollars);
      counter.watch(limit, this.#options.isAfterKill !== true);
      counter.budget = { budgeted, period, name: names[period], limit, counter };
      return [counter.budget];
    });
  }

  /** The shared budgets decide. */
  get isShared(): boolean {
    return this.#options.limiter?.isReachable === true;
  }

  /** A name for the entries of a request. No other request has it, at any replica. */
  newEntryId(): string {
    return this.#options.limiter?.newId() ?? String(++this.#entries);
  }

  /** Reads the state of these budgets, if replicas share it. */
  async read(budgets: readonly BudgetInPeriod[]): Promise<void> {
    if (!this.isShared) return;
    const demands = budgets.map(({ counter, limit }) => counter.demand(limit, 0, 0));
    const states = await this.#options.limiter?.readBudgets(demands);
    for (const [i, { counter }] of budgets.entries()) {
      const [demand, state] = [demands[i], states?.[i]];
      if (demand && state) counter.accept(demand, state);
    }
  }

  /** While a counter has entries, it is always the same object. */
  #counterOf(budgeted: BudgetOwner, period: string): BudgetCounter {
    const owner = this.#options.spend.of({ ...chargedOwner(budgeted), period });
    return (owner.watcher as BudgetCounter | undefined) ?? this.#create(owner);
  }

  #create(owner: OwnerSpend): BudgetCounter {
    const { limiter } = this.#options;
    const counter = new BudgetCounter(
      owner,
      limiter,
      ({ budget }) => budget && this.onSpent(budget),
    );
    this.#counters.set(counter.name, counter);
    return counter;
  }

  /** Reads the sums of end users and tags that are not known. Undefined if all are. */
  load(charged: readonly BudgetedOwner[], at: number): Promise<void> | undefined {
    const { loadEndUsersAndTags } = this.#options;
    if (!loadEndUsersAndTags) return undefined;
    const names = periodNames(at);
    const unknown = charged.filter(isEndUserOrTag).flatMap((budgeted) =>
      periods
        .filter((period) => budgeted.budget[period] !== undefined)
        .map((period) => this.#counterOf(budgeted, names[period]).owner)
        .filter(({ isRead }) => !isRead),
    );
    return unknown.length === 0 ? undefined : loadEndUsersAndTags(unknown);
  }

  /** Reports these sums to the shared budgets: an earlier process on the data folder may have reported others. */
  report(owners: Iterable<OwnerSpend>): void {
    for (const owner of owners) {
      if (owner.ended > 0 && !owner.watcher) this.#create(owner).changed();
    }
  }

  /** Replaces the entries of all jobs. */
  setJobEntries(entries: ReadonlyMap<BudgetCounter, readonly OpenEntry[]>): void {
    const before = this.#ofJobs;
    this.#ofJobs = new Map();
    for (const [counter, own] of entries) {
      this.#ofJobs.set(counter, new Set(own.map(({ id }) => id)));
      for (const entry of own) if (isNew(entry, counter.entries.get(entry.id))) counter.open(entry);
    }
    for (const [counter, ids] of before) {
      const present = this.#ofJobs.get(counter);
      for (const id of ids) if (!present?.has(id)) counter.close(id);
    }
  }

  /**
   * Bounds the memory. A threshold that an evicted counter has reported may be reported again: its event has the same
   * deduplication key. Must not be called between `budgetsOf` and the reservation: a counter that is about to be used
   * must not be replaced by a second one.
   */
  evictIdle(): void {
    if (this.#counters.size < this.#maxCounters) return;
    const isTooMany = this.#counters.size >= 2 * this.#maxCounters;
    let left = examined;
    for (const [name, counter] of this.#counters) {
      if (left-- === 0) return;
      this.#counters.delete(name);
      if (counter.isIdle && (isTooMany || !counter.isReporting)) {
        counter.dispose();
        this.#options.spend.release(counter.owner);
      } else this.#counters.set(name, counter);
    }
  }
}

const isNew = (entry: OpenEntry, before: OpenEntry | undefined): boolean =>
  !before ||
  entry.version > before.version ||
  (entry.version === before.version && entry.nanos !== before.nanos);

/** Rotated keys are charged like the first key of their line: they share its counters. */
export const chargedOwner = ({ scope, id }: BudgetOwner): BudgetOwner => ({
  scope,
  id: scope === "key" ? firstKeyId(id) : id,
});
