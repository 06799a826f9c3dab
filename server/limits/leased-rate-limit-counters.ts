/** Distributed rate limits: counters that replicas share. Each counter leases slices of a shared pool. */
import type { SharedPools } from "../lib/leased-pool.ts";
import { LeasedRateCounter } from "./leased-rate-counter.ts";
import { LeasedSlots } from "./leased-slots.ts";
import type { RateLimitCounters } from "./rate-limit-counters.ts";

/** `onLeased`: queued requests may have a free slot. */
export const leasedRateLimitCounters = (
  pools: SharedPools,
  onLeased: () => void,
): RateLimitCounters => ({
  createRate: (scope, rate, limit) => new LeasedRateCounter(pools, `${scope}:${rate}`, limit),
  createSlots: (scope) => new LeasedSlots(pools, scope, onLeased),
});
