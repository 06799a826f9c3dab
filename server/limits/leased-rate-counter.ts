/**
 * A rate limit that replicas share: a token bucket in a shared pool, of which this process leases slices. While the pool
 * is unreachable, the process has a token bucket with its share of the limit.
 */
import { LeasedPool, type SharedPools } from "../lib/leased-pool.ts";
import type { RateCounter } from "./rate-limit-counters.ts";
import { partsPerItem, TokenBucket } from "./token-bucket.ts";

/** A pool that no replica uses is deleted this long after it is full again. */
const retentionMs = 60_000;

export class LeasedRateCounter implements RateCounter {
  readonly #pool: LeasedPool;
  /** Only while the pool is unreachable. */
  #share: TokenBucket | undefined;

  /** `name`: the scope and the rate. */
  constructor(pools: SharedPools, name: string, limit: number) {
    this.#pool = new LeasedPool(pools, {
      ...{ pool: `rate:${name}`, limit, retentionMs },
      ...{ unit: partsPerItem, refills: true, isSemaphore: false },
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

  lease(count: number, now: number): Promise<void> | undefined {
    return count > this.limit ? undefined : this.#pool.lease(count, now);
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
    this.#pool.refund(count, now);
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

  /** The bucket starts with the leased slice or with this replica's share of what was left, whichever is larger. */
  #createShare(now: number): TokenBucket {
    const { replicas } = this.#pool;
    const limit = Math.max(1, Math.floor(this.limit / replicas));
    const left = Math.floor(this.#pool.unspent(now) / partsPerItem / replicas);
    const share = new TokenBucket(limit, now);
    share.take(limit - Math.max(0, Math.min(limit, Math.max(left, this.#pool.held(now)))), now);
    return share;
  }
}
