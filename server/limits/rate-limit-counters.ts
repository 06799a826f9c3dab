/**
 * The counters behind rate limits and concurrency limits. They are synchronous and local: a request checks and takes
 * from all of its counters in one step, without I/O. Shared counters hand out slices that they lease in the background.
 * `test/limits/rate-limit-counters.laws.ts` has the laws (contract tests) that every implementation must obey.
 */
import { ConcurrencySlots } from "./concurrency-slots.ts";
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
  /** Absent: all items belong to this process. */
  readonly leases?: RateLeases;
}

/** The leases of a counter that processes share. */
export interface RateLeases {
  /** Whether `count` items can be taken in this process. False: they must be leased first. */
  isLeased(count: number, now: number): boolean;
  /** Whether `count` items are not leased, and may be leased now. */
  canLease(count: number, now: number): boolean;
  /** Leases `count` items. Resolves when the lease is granted or refused. */
  lease(count: number, now: number): Promise<void>;
  /** Reads the state of the shared counter, for display. */
  readShared(now: number): Promise<void>;
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
  createSlots: () => new ConcurrencySlots(Number.POSITIVE_INFINITY),
};
