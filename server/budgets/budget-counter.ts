/**
 * The counter of one budget: the available amount is the limit, less what is spent, less what is reserved. Spent
 * amounts are in `OwnerSpend`; the counter has the entries that are open. Amounts are in nano-dollars.
 *
 * A budget that belongs to this process is checked and reserved in one synchronous step. Of one that replicas share,
 * the shared budgets decide, and the counter knows the state of the last reply. While they are unreachable, this
 * process may reserve its share of what was available then.
 */
import type { Period } from "../../contract/budget-periods.ts";
import type { BudgetedOwner } from "../../contract/limits-and-budgets.ts";
import type { OwnerSpend } from "../ledger/spend.ts";
import type { SharedBudget } from "../limits/budget-reports.ts";
import type { SharedLimiter } from "../limits/shared-limiter.ts";
import type { BudgetDemand, BudgetState, OpenEntry } from "../storage/redis/shared-limits.ts";
import { spendKey } from "../storage/sql/spend-tally.ts";
import { ReportedThresholds, type Threshold } from "./reported-thresholds.ts";

/** The limits and budgets that replicas share, as counters use them. */
export type BudgetLimiter = Pick<
  SharedLimiter,
  | "isReachable"
  | "replicas"
  | "openEntry"
  | "closeEntry"
  | "budgetChanged"
  | "isReporting"
  | "forgetBudget"
  | "newId"
  | "readBudgets"
>;

export interface BudgetInPeriod {
  readonly budgeted: BudgetedOwner;
  readonly period: Period;
  /** Such as 2026-11-15. */
  readonly name: string;
  /** Nano-dollars. */
  readonly limit: number;
  readonly counter: BudgetCounter;
}

export class BudgetCounter implements SharedBudget {
  readonly name: string;
  readonly owner: OwnerSpend;
  readonly entries = new Map<string, OpenEntry>();
  /** The budget as last configured. Undefined if no request has needed it. */
  budget: BudgetInPeriod | undefined;
  readonly #limiter: BudgetLimiter | undefined;
  readonly #onSpent: (counter: BudgetCounter) => void;
  readonly #thresholds = new ReportedThresholds();
  #open = 0;
  #likely = 0;
  #openElsewhere = 0;
  /** What was spent and reserved at the last reply of the shared budgets, and how much of it by this process. */
  #atReply: { readonly used: number; readonly own: number };

  constructor(
    owner: OwnerSpend,
    limiter: BudgetLimiter | undefined,
    onSpent: (counter: BudgetCounter) => void,
  ) {
    this.name = spendKey(owner);
    this.owner = owner;
    this.#limiter = limiter;
    this.#onSpent = onSpent;
    this.#atReply = { used: owner.spent + owner.ended, own: this.#own };
    owner.watcher = this;
  }

  /** For the shared budgets. */
  get spent(): number {
    return this.owner.spent;
  }

  /** For the shared budgets. */
  get ended(): number {
    return this.owner.ended;
  }

  /** Spent plus ended, of all replicas. */
  get used(): number {
    return this.owner.total;
  }

  /** Open entries of all replicas. */
  get reserved(): number {
    return this.#open + (this.#limiter?.isReachable ? this.#openElsewhere : 0);
  }

  /** All that this process has ever spent, and reserves. */
  get #own(): number {
    return this.owner.endedInAll + this.#open;
  }

  /** The shared budgets decide. */
  get isShared(): boolean {
    return this.#limiter?.isReachable === true;
  }

  /** A request is in flight here that may cost more than is reserved for it. */
  get hasUnderReserved(): boolean {
    return this.#likely > 0;
  }

  /** Nothing would be lost with the counter. */
  get isIdle(): boolean {
    return this.entries.size === 0 && this.owner.ended === 0;
  }

  get isReporting(): boolean {
    return this.#limiter?.isReporting(this) === true;
  }

  /**
   * Whether the amount does not fit, as far as this process decides alone. Undefined if the cost is not known, and fits
   * until the limit is reached.
   */
  wouldExceed(nanos: number | undefined, limit: number): boolean {
    const { spent, ended } = this.owner;
    const left = limit - spent - ended - this.#open;
    if (!this.#limiter) return exceeds(left, nanos);
    const { used, own } = this.#atReply;
    const share = Math.floor(Math.max(0, limit - used) / this.#limiter.replicas);
    return exceeds(Math.min(left, share - (this.#own - own)), nanos);
  }

  /** Whether the amount would not fit even if all requests in flight cost nothing. */
  isExhaustedFor(nanos: number | undefined, limit: number): boolean {
    return exceeds(limit - this.used, nanos);
  }

  demand(limit: number, most: number, likely: number): BudgetDemand {
    const { name, spent, ended } = this;
    return { name, spent, ended, limit, most, likely };
  }

  /** The reply to a demand. */
  accept(demand: BudgetDemand, { spent, ended, open }: BudgetState): void {
    this.owner.accept(spent, Math.max(0, ended - demand.ended));
    this.#onSpent(this);
    this.#openElsewhere = Math.max(0, open - this.#open);
    this.#atReply = { used: spent + ended + open, own: this.#own };
  }

  /** `isKnown`: the shared budgets have it. */
  open(entry: OpenEntry, isKnown = false): void {
    const before = this.entries.get(entry.id);
    this.#add(entry, 1);
    if (before) this.#add(before, -1);
    this.entries.set(entry.id, entry);
    this.#limiter?.openEntry(this, entry, isKnown);
  }

  close(id: string): void {
    const entry = this.entries.get(id);
    if (!entry) return;
    this.#add(entry, -1);
    this.entries.delete(id);
    this.#limiter?.closeEntry(this, id);
  }

  #add({ nanos, isLikely }: OpenEntry, sign: 1 | -1): void {
    this.#open += sign * nanos;
    if (isLikely) this.#likely += sign;
  }

  /** A request of this process has ended. */
  endedRequest(): void {
    this.#limiter?.budgetChanged(this);
  }

  changed(unknownNanos = 0): void {
    const limiter = this.#limiter;
    // During an outage, the others spend their shares: they take nothing from the one of this process.
    if (limiter?.isReachable)
      this.#atReply = { ...this.#atReply, used: this.#atReply.used + unknownNanos };
    limiter?.budgetChanged(this);
    this.#onSpent(this);
  }

  /** No budget watches the owner any more. */
  dispose(): void {
    this.#limiter?.forgetBudget(this);
  }

  /** `isReported`: thresholds that the stored rows have reached before are reported. */
  watch(limit: number, isReported: boolean): void {
    const { spent } = this.owner;
    this.#thresholds.watch(isReported ? spent : 0, spent, limit);
  }

  /**
   * Of what is spent alone: another replica may read stored rows before the replica that stored them takes them out of
   * ended, and for this moment they count twice.
   */
  newThresholds(limit: number, isRefused: boolean): readonly Threshold[] {
    return this.#thresholds.new(this.owner.spent, limit, isRefused);
  }
}

const exceeds = (left: number, nanos: number | undefined): boolean =>
  nanos === undefined ? left <= 0 : nanos > left;
