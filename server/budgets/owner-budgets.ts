/** The budgets of owners, with their accounts. */
import { type Period, periodNames, periods } from "../../contract/budget-periods.ts";
import {
  type BudgetedOwner,
  type BudgetOwner,
  firstKeyId,
  isEndUserOrTag,
} from "../../contract/limits-and-budgets.ts";
import type { Account } from "../ledger/account.ts";
import type { Accounts } from "../ledger/accounts.ts";
import { toNanos } from "../lib/nano-dollars.ts";
import type { OpenEntry } from "../storage/redis/shared-limits.ts";

interface OwnerBudgetsOptions {
  readonly accounts: Pick<Accounts, "of" | "evictIdle">;
  /** Reads the sums of end users and tags. If absent, they are known. */
  readonly loadEndUsersAndTags?: ((accounts: readonly Account[]) => Promise<void>) | undefined;
  /**
   * The previous process was killed, and may have lost events of thresholds. The events of all reached thresholds are
   * emitted again, and recorded ones are ignored as duplicates.
   */
  readonly isAfterKill?: boolean;
}

/** A budget as last configured, in one period. */
export class BudgetInPeriod {
  readonly account: Account;
  readonly period: Period;
  budgeted!: BudgetedOwner;
  /** Nano-dollars. */
  limit = 0;
  readonly #onSpent: (budget: BudgetInPeriod) => void;
  readonly #thresholds = new ReportedThresholds();

  constructor(account: Account, period: Period, onSpent: (budget: BudgetInPeriod) => void) {
    this.account = account;
    this.period = period;
    this.#onSpent = onSpent;
  }

  spentChanged(): void {
    this.#onSpent(this);
  }

  /** `isReported`: thresholds that the stored rows have reached before are reported. */
  configure(budgeted: BudgetedOwner, dollars: number, isReported: boolean): void {
    this.budgeted = budgeted;
    this.limit = toNanos(dollars);
    const { spent } = this.account;
    this.#thresholds.watch(isReported ? spent : 0, spent, this.limit);
  }

  /**
   * Compares `spent` without `ended`: for a moment after another replica has stored rows, both may count them.
   */
  newThresholds(isRefused: boolean): readonly Threshold[] {
    return this.#thresholds.new(this.account.spent, this.limit, isRefused);
  }
}

/** What a job reserves in an account. */
export interface JobReservation {
  readonly account: Account;
  readonly entry: OpenEntry;
}

export class OwnerBudgets {
  readonly #options: OwnerBudgetsOptions;
  /** Called when the spent amount may have changed. */
  onSpent: (budget: BudgetInPeriod) => void = () => undefined;
  #jobs: readonly JobReservation[] = [];

  constructor(options: OwnerBudgetsOptions) {
    this.#options = options;
  }

  /** The budgets of these owners at this time. Throws if the ledger cannot be read. */
  of(charged: readonly BudgetedOwner[], at: number): BudgetInPeriod[] {
    return this.#map(charged, at, (account, budgeted, period, dollars) => {
      const budget =
        (account.watcher as BudgetInPeriod | undefined) ?? this.#watch(account, period);
      if (budget.budgeted !== budgeted)
        budget.configure(budgeted, dollars, this.#options.isAfterKill !== true);
      return budget;
    });
  }

  /** Must not be called between `of` and the reservation. */
  evictIdle(): void {
    this.#options.accounts.evictIdle();
  }

  /** Reads the sums of end users and tags that are not known. Undefined if all are. */
  load(charged: readonly BudgetedOwner[], at: number): Promise<void> | undefined {
    const { loadEndUsersAndTags } = this.#options;
    if (!loadEndUsersAndTags) return undefined;
    const accounts = this.#map(charged.filter(isEndUserOrTag), at, (account) => account);
    const unknown = accounts.filter(({ isRead }) => !isRead);
    return unknown.length === 0 ? undefined : loadEndUsersAndTags(unknown);
  }

  /** Replaces the reservations of all jobs. */
  setJobs(jobs: readonly JobReservation[]): void {
    const present = new Set(jobs.map(nameOf));
    for (const { account, entry } of jobs)
      if (isNew(entry, account.entries.get(entry.id))) account.open(entry);
    for (const job of this.#jobs) if (!present.has(nameOf(job))) job.account.close(job.entry.id);
    this.#jobs = jobs;
  }

  #watch(account: Account, period: Period): BudgetInPeriod {
    const budget = new BudgetInPeriod(account, period, (changed) => this.onSpent(changed));
    account.watcher = budget;
    return budget;
  }

  #map<T>(
    charged: readonly BudgetedOwner[],
    at: number,
    map: (account: Account, budgeted: BudgetedOwner, period: Period, dollars: number) => T,
  ): T[] {
    const names = periodNames(at);
    const mapped: T[] = [];
    for (const budgeted of charged) {
      const { scope, id } = chargedOwner(budgeted);
      for (const period of periods) {
        const dollars = budgeted.budget[period];
        if (dollars === undefined) continue;
        const account = this.#options.accounts.of({ scope, id, period: names[period] });
        mapped.push(map(account, budgeted, period, dollars));
      }
    }
    return mapped;
  }
}

/** Thresholds that cause the event `budget.threshold`, in percent. */
const thresholds = [50, 80, 100] as const;
type Threshold = (typeof thresholds)[number];

/** The thresholds of one budget, each of which is reported once. `used` and `limit`: nano-dollars. */
class ReportedThresholds {
  /** The highest reported threshold, and the limit that it belongs to. */
  #reported: Threshold | 0 = 0;
  #limit: number | undefined;

  /** `before`: thresholds that this amount reaches at the first call count as reported. */
  watch(before: number, used: number, limit: number): void {
    if (this.#limit === limit) return;
    const reached = highestThreshold(this.#limit === undefined ? before : used, limit);
    // After the limit is lowered, newly reached thresholds are reported. After it is raised, thresholds can be reported
    // again.
    if (this.#limit === undefined || reached < this.#reported) this.#reported = reached;
    this.#limit = limit;
  }

  /**
   * Thresholds that are reached and not yet reported. `isRefused`: a request was refused until the period ends. With
   * half the budget used, the 100 % threshold then counts as reached: the rest is too small to use.
   */
  new(used: number, limit: number, isRefused: boolean): readonly Threshold[] {
    const reached = highestThreshold(used, limit);
    return this.#report(isRefused && Math.max(reached, this.#reported) >= 50 ? 100 : reached);
  }

  #report(reached: Threshold | 0): readonly Threshold[] {
    // The usual case: this runs after each request.
    if (reached <= this.#reported) return none;
    const newlyReached = thresholds.filter(
      (percent) => percent > this.#reported && percent <= reached,
    );
    this.#reported = reached;
    return newlyReached;
  }
}

const none: readonly Threshold[] = [];

function highestThreshold(used: number, limit: number): Threshold | 0 {
  if (used <= 0) return 0;
  return thresholds.findLast((percent) => used * 100 >= limit * percent) ?? 0;
}

const nameOf = ({ account, entry }: JobReservation): string => `${account.name} ${entry.id}`;

const isNew = (entry: OpenEntry, before: OpenEntry | undefined): boolean =>
  !before ||
  entry.version > before.version ||
  (entry.version === before.version && entry.nanos !== before.nanos);

/** Rotated keys are charged like the first key of their line: they share its accounts. */
export const chargedOwner = ({ scope, id }: BudgetOwner): BudgetOwner => ({
  scope,
  id: scope === "key" ? firstKeyId(id) : id,
});
