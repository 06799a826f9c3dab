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

/** `scope`: the owner of the limit, such as `key:key_1`. Each scope has one counter of each kind at a time. */
export interface RateLimitCounters {
  createRate(scope: string, rate: Rate, limit: number, now: number): TokenBucket;
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
 * A rate limit that replicas share, as one replica knows it: the state of the last reply, and what this replica has taken
 * since then while Redis was unreachable. Redis decides. While it is unreachable, each replica applies its share of the
 * limit. When it is reachable again, its counters apply as they are: what replicas admitted meanwhile is not added.
 */
export class SharedRateCounter extends TokenBucket {
  readonly #limiter: SharedRateCalls;
  readonly #name: string;

  constructor(limiter: SharedRateCalls, name: string, limit: number, now: number) {
    super(limit, now);
    this.#limiter = limiter;
    this.#name = name;
  }

  override remaining(now: number): number {
    return Math.floor(super.remaining(now) / this.#assumedReplicas);
  }

  override waitMs(count: number, now: number): number {
    if (count > this.limit) return Number.POSITIVE_INFINITY;
    // A request that exceeds the share but not the whole limit waits for a full bucket, and overdraws it.
    return super.waitMs(Math.min(count * this.#assumedReplicas, this.limit), now);
  }

  override take(count: number, now: number): void {
    if (count === 0) return;
    if (this.#limiter.isReachable) this.#limiter.settleRate(this.demand(count, now));
    super.take(count * this.#assumedReplicas, now);
  }

  override refund(count: number, now: number): void {
    if (this.#limiter.isReachable) this.#limiter.settleRate(this.demand(-count, now));
    super.refund(count * this.#assumedReplicas, now);
  }

  /** To take, or to settle, `count` items. */
  demand(count: number, now: number): RateDemand {
    return { name: this.#name, limit: this.limit, count, missing: this.missing(now) };
  }

  /**
   * While the shared limits are unreachable, each request counts as if every replica had admitted one: this replica
   * admits its share of the limit.
   */
  get #assumedReplicas(): number {
    return this.#limiter.isReachable ? 1 : this.#limiter.replicas;
  }
}
