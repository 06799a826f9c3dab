/**
 * The counters behind rate limits and concurrency limits. Local counters are synchronous: a request checks and takes
 * from all of its counters in one step. Shared counters know the state as of the last reply, and `shared-limiter.ts`
 * takes from all of them in one call.
 * `test/limits/rate-limit-counters.laws.ts` has the laws (contract tests) that every implementation must obey.
 */
import type { Rate } from "../../contract/limits-and-budgets.ts";
import type { RateDemand } from "../storage/redis/shared-limits.ts";
import { type ConcurrencySlots, LocalSlots } from "./concurrency-slots.ts";
import { type SharedSlotCalls, SharedSlots } from "./shared-slots.ts";
import { TokenBucket } from "./token-bucket.ts";

/** The items that a request takes from each rate limit, as whole numbers. */
export type Demand = Readonly<Record<Rate, number>>;

/** One limit per minute. `now`: milliseconds of a monotonic clock. */
export interface RateCounter {
  /** Items per minute. */
  readonly limit: number;
  /** Whole items available; never negative. */
  remaining(now: number): number;
  /** Milliseconds until `count` items are available. Infinity: more than the limit. */
  waitMs(count: number, now: number): number;
  msUntilFull(now: number): number;
  /** May take more than is available: actual usage always counts, and later requests wait. */
  take(count: number, now: number): void;
  refund(count: number, now: number): void;
  /** Changes the limit. Usage stays counted, in proportion. */
  resize(limit: number, now: number): void;
}

/** `scope`: the owner of the limit, such as `key:key_1`. Each scope has one counter of each kind at a time. */
export interface RateLimitCounters {
  createRate(scope: string, rate: Rate, limit: number, now: number): RateCounter;
  /** The slots have no limit at first. */
  createSlots(scope: string): ConcurrencySlots;
}

/** Counters of this process only. */
export const localRateLimitCounters: RateLimitCounters = {
  createRate: (_scope, _rate, limit, now) => new TokenBucket(limit, now),
  createSlots: () => new LocalSlots(Number.POSITIVE_INFINITY),
};

/** What the counters need of `SharedLimiter`. */
interface SharedRateCalls {
  /** False: each replica applies its share. */
  readonly isReachable: boolean;
  readonly replicas: number;
  settleRate(rate: RateDemand): void;
}

export const sharedRateLimitCounters = (
  shared: SharedRateCalls & SharedSlotCalls,
): RateLimitCounters => ({
  createRate: (scope, rate, limit, now) =>
    new SharedRateCounter(shared, `${scope}:${rate}`, limit, now),
  createSlots: (scope) => new SharedSlots(shared, scope),
});

/**
 * A rate limit that replicas share, as one replica knows it: the state of the last reply. Redis decides. While it is
 * unreachable, each replica applies its share of the limit. When it is reachable again, its counters apply as they are:
 * what replicas admitted meanwhile is not added.
 */
export class SharedRateCounter implements RateCounter {
  readonly #limiter: SharedRateCalls;
  readonly #name: string;
  /** As of the last reply, and what this replica has taken since then while the shared limits were unreachable. */
  readonly #bucket: TokenBucket;

  constructor(limiter: SharedRateCalls, name: string, limit: number, now: number) {
    this.#limiter = limiter;
    this.#name = name;
    this.#bucket = new TokenBucket(limit, now);
  }

  get limit(): number {
    return this.#bucket.limit;
  }

  remaining(now: number): number {
    return Math.floor(this.#bucket.remaining(now) / this.#assumedReplicas);
  }

  waitMs(count: number, now: number): number {
    if (count > this.limit) return Number.POSITIVE_INFINITY;
    // A request that exceeds the share but not the whole limit waits for a full bucket, and overdraws it.
    return this.#bucket.waitMs(Math.min(count * this.#assumedReplicas, this.limit), now);
  }

  msUntilFull(now: number): number {
    return this.#bucket.msUntilFull(now);
  }

  take(count: number, now: number): void {
    if (count === 0) return;
    if (this.#limiter.isReachable) this.#limiter.settleRate(this.demand(count, now));
    this.#bucket.take(count * this.#assumedReplicas, now);
  }

  refund(count: number, now: number): void {
    if (this.#limiter.isReachable) this.#limiter.settleRate(this.demand(-count, now));
    this.#bucket.refund(count * this.#assumedReplicas, now);
  }

  resize(limit: number, now: number): void {
    this.#bucket.resize(limit, now);
  }

  /** To take, or to settle, `count` items. */
  demand(count: number, now: number): RateDemand {
    const missing = this.#bucket.missing(now);
    return { name: this.#name, limit: this.limit, count, missing };
  }

  /** The state in a reply, in missing parts. `now`: when the call was sent. */
  accept(missing: number, now: number): void {
    this.#bucket.setMissing(missing, now);
  }

  /**
   * While the shared limits are unreachable, each request counts as if every replica had admitted one: this replica
   * admits its share of the limit.
   */
  get #assumedReplicas(): number {
    return this.#limiter.isReachable ? 1 : this.#limiter.replicas;
  }
}
