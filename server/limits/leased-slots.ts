/**
 * Concurrency slots that replicas share: a counting semaphore in a shared pool, of which this process leases slots. While
 * the pool is unreachable, the process has its share of the slots.
 */
import { LeasedPool, type SharedPools } from "../lib/leased-pool.ts";
import { ConcurrencySlots } from "./concurrency-slots.ts";

const retentionMs = 60_000;

export class LeasedSlots extends ConcurrencySlots {
  readonly #pools: SharedPools;
  readonly #scope: string;
  readonly #onLeased: () => void;
  /** The limit of all replicas. */
  #sharedLimit = Number.POSITIVE_INFINITY;
  /** Created with the first limit. */
  #pool: LeasedPool | undefined;

  /** `onLeased`: queued requests may have a free slot. */
  constructor(pools: SharedPools, scope: string, onLeased: () => void) {
    super(Number.POSITIVE_INFINITY);
    this.#pools = pools;
    this.#scope = scope;
    this.#onLeased = onLeased;
  }

  /** The slots that are in use or leased. */
  override get limit(): number {
    const pool = this.#pool;
    if (!pool || this.#sharedLimit === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY;
    if (!pool.isReachable) return Math.max(1, Math.floor(this.#sharedLimit / pool.replicas));
    const leased = this.inFlight + Math.max(0, pool.held(this.#pools.clock()));
    return Math.min(leased, this.#sharedLimit, pool.share);
  }

  override set limit(limit: number) {
    this.#sharedLimit = limit;
    if (limit === Number.POSITIVE_INFINITY) return;
    const now = this.#pools.clock();
    if (this.#pool) {
      this.#pool.resize(limit, now);
      return;
    }
    this.#pool = new LeasedPool(this.#pools, {
      ...{ pool: `slots:${this.#scope}`, limit, retentionMs },
      ...{ unit: 1, refills: false, isSemaphore: true, onReply: this.#onLeased },
    });
    if (this.inFlight > 0) this.#pool.spend(this.inFlight, now);
  }

  override get isExhausted(): boolean {
    if (this.hasFreeSlot) return false;
    return !this.#pool?.isReachable || this.#pool.available(this.#pools.clock()) < 1;
  }

  override lease(): Promise<void> | undefined {
    return this.#pool?.lease(1, this.#pools.clock());
  }

  override acquire(): void {
    super.acquire();
    this.#pool?.spend(1, this.#pools.clock());
  }

  override release(stayedMs: number): void {
    super.release(stayedMs);
    this.#pool?.refund(1, this.#pools.clock());
  }

  override refresh(now: number): void {
    if (this.waiting > 0 && !this.hasFreeSlot) {
      void this.#pool?.lease(Math.min(this.waiting, this.#sharedLimit), now, 1);
    }
  }
}
