/**
 * Distributed rate limits: counters that replicas share. Each counter leases slices of a shared pool. Without Redis the
 * limits do not fail open: each replica applies its share of a limit.
 */
import { ConcurrencySlots } from "./concurrency-slots.ts";
import { LeasedPool, type SharedPools } from "./leased-pool.ts";
import type { RateCounter, RateLeases, RateLimitCounters } from "./rate-limit-counters.ts";
import { partsPerItem, TokenBucket } from "./token-bucket.ts";

/** `onLeased`: called when queued requests may have a free slot. */
export const leasedRateLimitCounters = (
  pools: SharedPools,
  onLeased: () => void,
): RateLimitCounters => ({
  createRate: (scope, rate, limit) => new LeasedRateCounter(pools, `${scope}:${rate}`, limit),
  createSlots: (scope) => new LeasedSlots(pools, scope, onLeased),
});

/** A pool that no replica uses is deleted this long after it is full again. */
const retentionMs = 60_000;
/** A notice of free slots can be lost, so a replica polls for them while requests wait for a slot. */
const refreshMs = 50;

/**
 * A rate limit that replicas share: a token bucket in a shared pool. While the pool is unreachable, the process has a
 * token bucket with its share of the limit.
 */
class LeasedRateCounter implements RateCounter, RateLeases {
  readonly leases = this;
  readonly #pool: LeasedPool;
  /** Only while the pool is unreachable. */
  #share: TokenBucket | undefined;

  /** `name`: the scope and the rate. */
  constructor(pools: SharedPools, name: string, limit: number) {
    this.#pool = new LeasedPool(pools, {
      pool: `rate:${name}`,
      limit,
      retentionMs,
      unit: partsPerItem,
      refills: true,
      isSemaphore: false,
    });
  }

  get limit(): number {
    return this.#pool.limit;
  }

  remaining(now: number): number {
    const share = this.#shareAt(now);
    if (share) return share.remaining(now);
    return Math.max(0, Math.floor(this.#pool.unspent(now) / partsPerItem));
  }

  waitMs(count: number, now: number): number {
    if (count > this.limit) return Number.POSITIVE_INFINITY;
    const share = this.#shareAt(now);
    // A request that exceeds this share but not the whole limit waits for a full bucket, and overdraws it.
    if (share) return share.waitMs(Math.min(count, share.limit), now);
    const missing = (count - this.#pool.held(now)) * partsPerItem;
    if (missing <= 0) return 0;
    return Math.max(0, Math.ceil((missing - this.#pool.available(now)) / this.limit));
  }

  isLeased(count: number, now: number): boolean {
    return this.#shareAt(now) !== undefined || count <= this.#pool.held(now);
  }

  canLease(count: number, now: number): boolean {
    return count <= this.limit && this.#pool.canLease(count, now);
  }

  async lease(count: number, now: number): Promise<void> {
    if (count <= this.limit) await this.#pool.lease(count, now);
  }

  readShared(now: number): Promise<void> {
    return this.#pool.refreshEstimate(now, 0);
  }

  msUntilFull(now: number): number {
    const share = this.#shareAt(now);
    if (share) return share.msUntilFull(now);
    const missing = this.limit * partsPerItem - this.#pool.unspent(now);
    return Math.max(0, Math.ceil(missing / this.limit));
  }

  take(count: number, now: number): void {
    this.#shareAt(now)?.take(count, now);
    if (count > 0) this.#pool.spend(count, now);
  }

  refund(count: number, now: number): void {
    this.#shareAt(now)?.refund(count, now);
    this.#pool.refund(count);
  }

  resize(limit: number, now: number): void {
    this.#pool.resize(limit, now);
    this.#share = undefined;
  }

  #shareAt(now: number): TokenBucket | undefined {
    if (this.#pool.isReachable) {
      this.#share = undefined;
      return undefined;
    }
    this.#share ??= this.#createShare(now);
    return this.#share;
  }

  /** The bucket starts with the leased slice or with this replica's share of the remainder, whichever is larger. */
  #createShare(now: number): TokenBucket {
    const { replicas } = this.#pool;
    const limit = Math.max(1, Math.floor(this.limit / replicas));
    const left = Math.floor(this.#pool.unspent(now) / partsPerItem / replicas);
    const share = new TokenBucket(limit, now);
    share.take(limit - Math.max(0, Math.min(limit, Math.max(left, this.#pool.held(now)))), now);
    return share;
  }
}

/**
 * Concurrency slots that replicas share: a counting semaphore in a shared pool. While the pool is unreachable, the
 * process has its share of the slots.
 */
class LeasedSlots extends ConcurrencySlots {
  readonly #pools: SharedPools;
  readonly #scope: string;
  readonly #onLeased: () => void;
  /** The limit of all replicas. */
  #sharedLimit = Number.POSITIVE_INFINITY;
  /** Created with the first limit. */
  #pool: LeasedPool | undefined;

  /** `onLeased`: called when queued requests may have a free slot. */
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
    return Math.min(leased, this.#sharedLimit);
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
      pool: `slots:${this.#scope}`,
      limit,
      retentionMs,
      unit: 1,
      refills: false,
      isSemaphore: true,
      waiting: () => this.usable + this.entering,
      onReply: this.#onLeased,
    });
    if (this.inFlight > 0) this.#pool.spend(this.inFlight, now);
  }

  override get isShared(): boolean {
    return this.#sharedLimit !== Number.POSITIVE_INFINITY;
  }

  override get isExhausted(): boolean {
    if (this.hasFreeSlot) return false;
    const now = this.#pools.clock();
    void this.#pool?.refreshEstimate(now);
    return !this.#pool?.isReachable || this.#pool.available(now) < 1;
  }

  override canLease(): boolean {
    return this.#pool?.canLease(1, this.#pools.clock()) ?? false;
  }

  override async lease(): Promise<void> {
    this.entering++;
    try {
      await this.#pool?.lease(1, this.#pools.clock());
    } finally {
      this.entering--;
    }
  }

  override async readShared(): Promise<void> {
    await this.#pool?.refreshEstimate(this.#pools.clock(), 0);
  }

  override get sharedInFlight(): number {
    const pool = this.#pool;
    if (!pool?.isReachable) return this.inFlight;
    return Math.max(this.inFlight, pool.limit - pool.unspent(this.#pools.clock()));
  }

  override acquire(): void {
    super.acquire();
    this.#pool?.spend(1, this.#pools.clock());
  }

  override release(heldMs: number): void {
    super.release(heldMs);
    this.#pool?.refund(1);
  }

  override refresh(now: number): number {
    if (this.#sharedLimit === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY;
    if (this.usable > 0 && !this.hasFreeSlot) void this.#pool?.lease(1, now);
    return refreshMs;
  }
}
