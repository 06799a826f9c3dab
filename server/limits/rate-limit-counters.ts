/**
 * The counters behind rate limits and concurrency limits. Local counters are synchronous: a request checks and takes
 * from all of its counters in one step. Shared counters (`shared-counters.ts`) know the state as of the last reply, and
 * `shared-limiter.ts` takes from all of them in one call.
 * `test/limits/rate-limit-counters.laws.ts` has the laws (contract tests) that every implementation must obey.
 */
import { type ConcurrencySlots, LocalSlots } from "./concurrency-slots.ts";
import { TokenBucket } from "./token-bucket.ts";

/** The items that a request takes from each rate limit, as whole numbers. */
export interface Demand {
  readonly requests: number;
  readonly tokens: number;
  readonly images: number;
  readonly pixels: number;
}

export type Rate = keyof Demand;
export const rates: readonly Rate[] = ["requests", "tokens", "images", "pixels"];

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
