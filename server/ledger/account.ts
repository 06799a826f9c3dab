/**
 * The account of a budget owner in one period, in nano-dollars. Each dollar is in one of three places:
 *
 * - `spent`: a copy of the sum in the ledger's database. The sum changes only in the transaction that stores rows, and
 *   within a period it only grows, so of two copies the higher one is newer.
 * - `ended`: the rows of this process that the ledger's database does not have yet. A row is added when its request
 *   ends, and removed when the transaction that stores it returns the new sum.
 * - `entries`: the estimates of requests that are running, and of jobs.
 *
 * Available is the limit, less the three. An account of this process alone is checked and changed in one synchronous
 * step. Of one that replicas share, the shared budgets decide, and the account knows the state of their last reply.
 * While they are unreachable, this process may reserve its share of what was available then.
 */
import type { SpendKey } from "../storage/ports/ledger-store.ts";
import type {
  BudgetDemand,
  BudgetState,
  BudgetView,
  OpenEntry,
  Reserved,
} from "../storage/redis/shared-limits.ts";
import { spendKey } from "../storage/sql/spend-tally.ts";

/** The shared budgets, as an account uses them. */
export interface SharedAccounts {
  /** False: each replica applies its share. */
  readonly isReachable: boolean;
  readonly replicas: number;
  /** Redis may not have its amounts. */
  isReporting(account: Account): boolean;
  accountChanged(account: Account): void;
  /** `isKnown`: it was reserved by a call. */
  entryOpened(account: Account, entry: OpenEntry, isKnown: boolean): void;
  entryClosed(account: Account, id: string): void;
  forget(account: Account): void;
}

/** The amounts to reserve for a request. */
export type AmountDemand = Pick<BudgetDemand, "limit" | "most" | "likely">;

export class Account implements SpendKey, BudgetView {
  readonly scope: SpendKey["scope"];
  readonly id: string;
  readonly period: string;
  readonly name: string;
  spent = 0;
  ended = 0;
  readonly entries = new Map<string, OpenEntry>();
  /** The sum of the ledger's database has been read, and is read again every two seconds. */
  isRead = false;
  /** When a budget last needed it: milliseconds, monotonic. */
  usedAt = Number.NEGATIVE_INFINITY;
  /** A budget needs it: it stays in memory while it is in use. */
  isBudgeted = false;
  /** Its budget. */
  watcher: { spentChanged(): void } | undefined;
  #shared: SharedAccounts | undefined;
  #wasRead = false;
  /** The sum of the entries, and the number of those with less than the upper bound of the cost. */
  #open = 0;
  #likely = 0;
  /** Of the other replicas, as of the last reply of the shared budgets. */
  #endedElsewhere = 0;
  #openElsewhere = 0;
  /** All that this process has ever added to `ended`. */
  #endedInAll = 0;
  /** What was spent and reserved at the last reply of the shared budgets, and how much of it by this process. */
  #atReply = { used: 0, own: 0 };

  constructor({ scope, id, period }: SpendKey) {
    this.scope = scope;
    this.id = id;
    this.period = period;
    this.name = spendKey(this);
  }

  /** For a budget. `shared`: undefined if the account belongs to this process. */
  useForBudget(shared: SharedAccounts | undefined): void {
    if (this.isBudgeted) return;
    this.isBudgeted = true;
    this.#shared = shared;
    this.#atReply = { used: this.spent + this.ended, own: this.#own };
  }

  /** Nothing of this process is in it that is not stored. */
  get isIdle(): boolean {
    return this.entries.size === 0 && this.ended === 0;
  }

  get isReporting(): boolean {
    return this.#shared?.isReporting(this) === true;
  }

  dispose(): void {
    this.#shared?.forget(this);
  }

  /** Spent plus ended, of all replicas. */
  get used(): number {
    return this.spent + this.ended + this.#endedElsewhere;
  }

  /** Open entries of all replicas. */
  get reserved(): number {
    return this.#open + (this.#shared?.isReachable ? this.#openElsewhere : 0);
  }

  /** All that this process has ever spent, and reserves. */
  get #own(): number {
    return this.#endedInAll + this.#open;
  }

  end(nanos: number): void {
    this.ended += nanos;
    this.#endedInAll += nanos;
    this.#shared?.accountChanged(this);
  }

  drop(nanos: number): void {
    this.ended -= nanos;
    this.changed();
  }

  /** Sets the copy, if it is higher. `stored`: the amount of the own rows that it has in addition. */
  raise(spent: number, stored = 0): void {
    const isFirst = !this.#wasRead;
    this.#wasRead = true;
    this.isRead = true;
    const others = Math.max(0, spent - this.spent - stored);
    if (others === 0 && stored === 0) return;
    const reported = Math.min(others, this.#endedElsewhere);
    this.ended -= stored;
    this.#endedElsewhere -= reported;
    this.spent = Math.max(this.spent, spent);
    // During an outage, the others spend their shares: they take nothing from the one of this process. What was spent
    // before the first reading is not theirs.
    if (isFirst || this.#shared?.isReachable) this.#atReply.used += others - reported;
    this.changed();
  }

  /** What an earlier process has read. */
  startAt(spent: number): void {
    this.spent = Math.max(this.spent, spent);
  }

  changed(): void {
    this.#shared?.accountChanged(this);
    this.watcher?.spentChanged();
  }

  open(entry: OpenEntry, isKnown = false): void {
    const before = this.entries.get(entry.id);
    this.#add(entry, 1);
    if (before) this.#add(before, -1);
    this.entries.set(entry.id, entry);
    this.#shared?.entryOpened(this, entry, isKnown);
  }

  close(id: string): void {
    const entry = this.entries.get(id);
    if (!entry) return;
    this.#add(entry, -1);
    this.entries.delete(id);
    this.#shared?.entryClosed(this, id);
  }

  #add({ nanos, isLikely }: OpenEntry, sign: 1 | -1): void {
    this.#open += sign * nanos;
    if (isLikely) this.#likely += sign;
  }

  /**
   * What fits, as far as this process decides alone. One request at a time may exceed the limit with its upper bound if
   * its likely cost fits: otherwise the rest could never be spent.
   */
  reservable({ limit, most, likely }: AmountDemand): Reserved {
    const left = this.#available(limit);
    if (fits(left, most)) return "maximum";
    return this.#likely === 0 && fits(left, likely) ? "likely" : "nothing";
  }

  #available(limit: number): number {
    const left = limit - this.spent - this.ended - this.#open;
    if (!this.#shared) return left;
    const { used, own } = this.#atReply;
    const share = Math.floor(Math.max(0, limit - used) / this.#shared.replicas);
    return Math.min(left, share - (this.#own - own));
  }

  /** Whether the amount would not fit even if all requests in flight cost nothing. */
  isExhaustedFor(nanos: number, limit: number): boolean {
    return !fits(limit - this.used, nanos);
  }

  /** The demand of a request on the shared budgets. */
  demand(amounts: AmountDemand): BudgetDemand {
    const { name, spent, ended } = this;
    return { name, spent, ended, ...amounts };
  }

  /** The reply to a demand. */
  accept(demand: BudgetDemand, { spent, ended, open }: BudgetState): void {
    this.spent = Math.max(this.spent, spent);
    this.#endedElsewhere = Math.max(0, ended - demand.ended);
    this.#openElsewhere = Math.max(0, open - this.#open);
    this.#atReply = { used: spent + ended + open, own: this.#own };
    this.watcher?.spentChanged();
  }
}

/** 0: the amount is unknown, and fits until the limit is reached. */
const fits = (left: number, nanos: number): boolean => (nanos === 0 ? left > 0 : nanos <= left);
