/**
 * The counters of budgets that replicas share, as one replica knows them: the state of the last reply, and the sum in
 * the ledger. Reservations are made in `SharedLimits`. While it is unreachable, each replica may spend its share of the
 * remaining amount.
 */
import {
  type Budget,
  type BudgetedOwner,
  type BudgetOwner,
  isLabelOwner,
} from "../../contract/limits-and-budgets.ts";
import type { SharedLimiter } from "../limits/shared-limiter.ts";
import type { BudgetDemand, BudgetState, HeldReservation } from "../storage/redis/limits-demand.ts";
import {
  BudgetCounter,
  BudgetCounters,
  type BudgetCountersOptions,
  exceeds,
  type ReservedAmount,
  type SharedBudget,
  type StandingReservation,
} from "./budget-counters.ts";

/**
 * How often the sum of the ledger is loaded: it also has the cost of requests whose replica died, or could not reach
 * the shared budgets, when they ended.
 */
const reloadMs = 10_000;
/** Of an end user or a tag, whose requests wait for it. */
const reloadLabelMs = 60_000;
/** How long the reservations of other replicas are shown after a reply. */
const shownMs = 1000;

class SharedBudgetCounter extends BudgetCounter implements SharedBudget {
  override readonly shared = this;
  readonly #limiter: SharedLimiter;
  /** The amount that all replicas have spent, as far as this one knows. */
  #spent: number;
  /** The amount that this process has spent. */
  #spentHere = 0;
  loadedAt: number;
  #reservedElsewhere = 0;
  #repliedAt = Number.NEGATIVE_INFINITY;
  /** The reservations of requests in flight, by their names. */
  readonly #held = new Map<string, HeldReservation>();
  readonly #standing = new Map<string, HeldReservation>();
  /**
   * What this process may spend in total, of a budget of this limit, until the shared budgets are reachable again.
   * `recoveredAt`: when the last outage before this one ended.
   */
  #share:
    | { readonly limit: number; readonly recoveredAt: number; readonly end: number }
    | undefined;

  constructor(limiter: SharedLimiter, id: string, spent: number, budget: Budget) {
    super(id, spent, budget);
    this.#limiter = limiter;
    this.#spent = spent;
    this.loadedAt = limiter.clock();
  }

  override get spent(): number {
    return this.#spent;
  }

  override get reserved(): number {
    const isShown = this.#limiter.clock() - this.#repliedAt < shownMs;
    return super.reserved + (isShown ? this.#reservedElsewhere : 0);
  }

  override load(spent: number, loadedFor: Budget): void {
    this.loadedFor = loadedFor;
    this.loadedAt = this.#limiter.clock();
    this.#spent = Math.max(this.#spent, spent);
  }

  override spend(dollars: number): void {
    this.#spent += dollars;
    this.#spentHere += dollars;
  }

  override settle(amount: ReservedAmount, dollars: number, hold = ""): void {
    super.settle(amount, dollars);
    const held = this.#held.get(hold);
    this.#held.delete(hold);
    if (held || dollars > 0) this.#limiter.settleBudget({ name: this.id, held, dollars });
  }

  /** Only while the shared budgets are unreachable. */
  override wouldExceed(dollars: number | undefined, limit: number): boolean {
    const { recoveredAt, replicas } = this.#limiter;
    if (this.#share?.limit !== limit || this.#share.recoveredAt !== recoveredAt) {
      const left = Math.max(0, limit - this.#spent - this.standing);
      this.#share = { limit, recoveredAt, end: this.#spentHere + left / replicas };
    }
    const reservedHere = super.reserved - this.standing;
    const exceedsShare = exceeds(this.#spentHere + reservedHere, dollars, this.#share.end);
    // The ledger has what the others spent, also if there are more replicas than this one knows.
    return exceedsShare || this.isExhaustedFor(dollars, limit);
  }

  /** A reservation of the same name by several replicas counts once, and expires when none of them renews it. */
  override setStanding(reservations: readonly StandingReservation[]): void {
    super.setStanding(reservations);
    const earlier = new Map(this.#standing);
    this.#standing.clear();
    for (const { hold, dollars } of reservations) {
      const held = earlier.get(hold);
      const isSame = held?.dollars === dollars;
      if (isSame) earlier.delete(hold);
      this.#standing.set(hold, isSame ? held : this.#reserveStanding(hold, dollars));
    }
    for (const held of earlier.values())
      this.#limiter.settleBudget({ name: this.id, held, dollars: 0 });
  }

  #reserveStanding(hold: string, dollars: number): HeldReservation {
    const held: HeldReservation = { name: this.id, hold, dollars, reservation: "maximum" };
    this.#limiter.keepReservation(held);
    this.#limiter.renewReservation(held);
    return held;
  }

  demand(limit: number, maxDollars: number, dollars: number): BudgetDemand {
    return { name: this.id, limit, maxDollars, dollars, spent: this.#spent };
  }

  accept({ spent, reserved }: BudgetState): void {
    this.#spent = spent;
    this.#reservedElsewhere = Math.max(0, reserved - super.reserved);
    this.#repliedAt = this.#limiter.clock();
  }

  keep({ reserved: dollars, mayExceedReservation }: ReservedAmount, hold: string): void {
    if (dollars === 0) return;
    const reservation = mayExceedReservation ? "likely" : "maximum";
    const held: HeldReservation = { name: this.id, hold, dollars, reservation };
    this.#held.set(hold, held);
    this.#limiter.keepReservation(held);
  }
}

export class SharedBudgetCounters extends BudgetCounters {
  readonly #limiter: SharedLimiter;

  constructor(limiter: SharedLimiter, options: BudgetCountersOptions) {
    super(options);
    this.#limiter = limiter;
  }

  override get isShared(): boolean {
    return this.#limiter.isReachable;
  }

  protected override create(id: string, spent: number, budget: Budget): BudgetCounter {
    return new SharedBudgetCounter(this.#limiter, id, spent, budget);
  }

  override counterOf(budgeted: BudgetedOwner, period: string): BudgetCounter {
    const counter = super.counterOf(budgeted, period);
    if (this.isStale(counter, budgeted))
      counter.load(this.spentBefore(budgeted, period), budgeted.budget);
    return counter;
  }

  protected override isStale(counter: BudgetCounter, owner: BudgetOwner): boolean {
    if (!(counter instanceof SharedBudgetCounter)) return false;
    const { loadedAt } = counter;
    const ms = isLabelOwner(owner) ? reloadLabelMs : reloadMs;
    return this.#limiter.clock() - loadedAt > ms || loadedAt < this.#limiter.recoveredAt;
  }
}
