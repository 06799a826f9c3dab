/**
 * Shared budgets, whose counters replicas share: a budget is a pool of nano-dollars. This process leases slices of the
 * pool and reserves from them. While the pool is unreachable, the process may spend its share of the remaining amount.
 */
import type { Budget, BudgetedOwner } from "../../contract/limits-and-budgets.ts";
import { LeasedPool, type SharedPools } from "../limits/leased-pool.ts";
import { BudgetCounter, BudgetCounters, type BudgetCountersOptions } from "./budget-counters.ts";

/** A pool is deleted when it was not used for longer than its period; then it is loaded from the ledger again. */
const retentionMs = 32 * 86_400_000;
/**
 * How often the sum of the ledger is loaded: it also has the cost of requests whose replica died before it reported
 * them.
 */
const reloadMs = 10_000;

const toNano = (dollars: number): number => Math.round(dollars * 1e9);

class LeasedBudgetCounter extends BudgetCounter {
  readonly #pools: SharedPools;
  #pool: LeasedPool | undefined;
  /** The dollars that this process has spent. The sum is rounded to nano-dollars, not each cost. */
  #spentHere = 0;
  #loaded: number;
  loadedAt: number;
  /** While the pool is unreachable: the total that may be spent and reserved. */
  #shareEnd: number | undefined;

  constructor(pools: SharedPools, id: string, spent: number, budget: Budget) {
    super(id, spent, budget);
    this.#pools = pools;
    this.#loaded = spent;
    this.loadedAt = pools.clock();
  }

  /** The amount that all replicas have spent. */
  override get spent(): number {
    const pool = this.#pool;
    if (!pool) return this.#loaded;
    return Math.max(0, pool.limit - pool.unspent(this.#pools.clock())) / 1e9;
  }

  override load(spent: number, loadedFor: Budget): void {
    this.loadedFor = loadedFor;
    this.#loaded = spent;
    this.loadedAt = this.#pools.clock();
    this.#pool?.correct(this.#pool.limit - toNano(spent));
  }

  override watch(limit: number): void {
    const nano = toNano(limit);
    if (!this.#pool) {
      this.#pool = new LeasedPool(this.#pools, {
        pool: `budget:${this.id}`,
        limit: nano,
        unit: 1,
        refills: false,
        isSemaphore: false,
        retentionMs,
        unspent: nano - toNano(this.#loaded),
      });
    } else if (this.#pool.limit !== nano) {
      this.#pool.resize(nano, this.#pools.clock());
      this.#shareEnd = undefined;
    }
    super.watch(limit);
  }

  override wouldExceed(dollars: number | undefined, limit: number): boolean {
    if (dollars === undefined) return this.spent + this.reserved >= limit;
    return toNano(dollars) > this.#usable(this.#poolFor(limit));
  }

  override canLease(dollars: number, limit: number): boolean {
    return this.#poolFor(limit).canLease(toNano(dollars), this.#pools.clock());
  }

  override async lease(maxDollars: number, dollars: number, limit: number): Promise<void> {
    const [most, least] = [toNano(maxDollars), toNano(dollars)];
    await this.#poolFor(limit).lease(most, this.#pools.clock(), Math.min(most, least));
  }

  override reserve(dollars: number, mayExceedReservation: boolean): void {
    super.reserve(dollars, mayExceedReservation);
    this.#pool?.reserve(toNano(dollars));
  }

  override release(dollars: number, mayExceedReservation: boolean): void {
    super.release(dollars, mayExceedReservation);
    this.#pool?.release(toNano(dollars));
  }

  override spend(dollars: number): void {
    const before = toNano(this.#spentHere);
    this.#spentHere += dollars;
    this.#pool?.spend(toNano(this.#spentHere) - before, this.#pools.clock());
  }

  #poolFor(limit: number): LeasedPool {
    this.watch(limit);
    if (!this.#pool) throw new Error("a watched budget has a pool");
    return this.#pool;
  }

  /** Nano-dollars for new requests. */
  #usable(pool: LeasedPool): number {
    const now = this.#pools.clock();
    if (pool.isReachable) {
      this.#shareEnd = undefined;
      return pool.held(now);
    }
    const leased = pool.held(now) + pool.reserved;
    this.#shareEnd ??= pool.spent + Math.max(leased, Math.floor(pool.unspent(now) / pool.replicas));
    return this.#shareEnd - pool.spent - pool.reserved;
  }
}

export class LeasedBudgetCounters extends BudgetCounters {
  override readonly isShared = true;
  readonly #pools: SharedPools;

  constructor(pools: SharedPools, options: BudgetCountersOptions) {
    super(options);
    this.#pools = pools;
  }

  protected override create(id: string, spent: number, budget: Budget): BudgetCounter {
    return new LeasedBudgetCounter(this.#pools, id, spent, budget);
  }

  override counterOf(budgeted: BudgetedOwner, period: string): BudgetCounter {
    const counter = super.counterOf(budgeted, period);
    if (
      counter instanceof LeasedBudgetCounter &&
      this.#pools.clock() - counter.loadedAt > reloadMs
    ) {
      counter.load(this.spentBefore(budgeted, period), budgeted.budget);
    }
    return counter;
  }
}
