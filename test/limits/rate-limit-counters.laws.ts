/** Laws (contract tests) of `RateLimitCounters`, for every implementation: local counters, and shared ones. */
import { describe, expect, type Test, test } from "bun:test";
import { type ConcurrencySlots, SlotLease } from "../../server/limits/concurrency-slots.ts";
import { LimitScope, noDemand } from "../../server/limits/limiter.ts";
import type { RateLimitCounters } from "../../server/limits/rate-limit-counters.ts";
import type { SharedLimiter } from "../../server/limits/shared-limiter.ts";
import type { TokenBucket } from "../../server/limits/token-bucket.ts";

/** The counters, and with shared ones the limiter that takes from them. */
interface TestRateLimitCounters {
  readonly counters: RateLimitCounters;
  readonly limiter?: SharedLimiter;
}

/** `create`: counters whose clock is `now`. */
export function rateLimitCounterLaws(
  name: string,
  create: (now: () => number) => TestRateLimitCounters,
  law: Test<[]> = test,
): void {
  const minute = 60_000;

  const rateOf = (scope: LimitScope): TokenBucket => {
    const bucket = scope.bucket("requests");
    if (!bucket) throw new Error("no limit of requests");
    return bucket;
  };

  /** A counter, and the wait that it reports when it knows the shared state. */
  const setUp = (limit: number, at = 0) => {
    let now = at;
    const { counters, limiter } = create(() => now);
    const scope = new LimitScope("key:key_1", { requestsPerMinute: limit }, counters, now);
    const counter = rateOf(scope);
    const waitMs = async (count: number, later: number): Promise<number> => {
      now = later;
      await limiter?.read([scope]);
      return counter.waitMs(count, now);
    };
    return { counter, waitMs };
  };

  const leaseOptions = {
    clock: () => 0,
    onRelease: () => undefined,
    newId: () => String(Math.random()),
  };
  /** Takes a slot. Undefined if none is free. */
  const acquire = async (
    slots: ConcurrencySlots,
    limiter: SharedLimiter | undefined,
  ): Promise<SlotLease | undefined> => {
    if (!slots.mayTake) return undefined;
    const lease = new SlotLease([slots], leaseOptions);
    if (!limiter) return lease;
    const grant = await limiter.take({ scopes: [], demand: noDemand, lease });
    if (grant?.outcome === "taken") return lease;
    lease.releaseUnused();
    return undefined;
  };

  describe(`${name} rate limit counters`, () => {
    law("a new counter has its whole limit, and a request within it does not wait", async () => {
      const { counter, waitMs } = setUp(60);
      expect([counter.limit, counter.remaining(0), await waitMs(60, 0)]).toEqual([60, 60, 0]);
      expect(counter.msUntilFull(0)).toBe(0);
    });

    law("no minute admits more than the limit and its refill", async () => {
      const { counter, waitMs } = setUp(60);
      let admitted = 0;
      for (let now = 0; now < minute; now += 70) {
        if ((await waitMs(1, now)) > 0) continue;
        counter.take(1, now);
        admitted++;
      }
      expect(admitted).toBeGreaterThan(60);
      expect(admitted).toBeLessThanOrEqual(120);
    });

    law(
      "a request is admitted after the wait that the counter reports, and not before",
      async () => {
        const { counter, waitMs } = setUp(60);
        counter.take(60, 0);
        const namedMs = await waitMs(3, 0);
        expect(namedMs).toBeGreaterThan(0);
        expect(await waitMs(3, namedMs - 1)).toBeGreaterThan(0);
        expect(await waitMs(3, namedMs)).toBe(0);
      },
    );

    law("a request above the limit is never admitted", () => {
      const { counter } = setUp(10);
      expect(counter.waitMs(11, 0)).toBe(Number.POSITIVE_INFINITY);
    });

    law("usage above the limit counts, and later requests wait for it", async () => {
      const { counter, waitMs } = setUp(60);
      counter.take(90, 0);
      expect(counter.remaining(0)).toBe(0);
      expect(await waitMs(1, 0)).toBeGreaterThan(0);
      expect(await waitMs(1, 30_000)).toBeGreaterThan(0);
      expect(await waitMs(1, 31_000)).toBe(0);
    });

    law("refunded tokens can be taken again, and never more than the limit", async () => {
      const { counter, waitMs } = setUp(10);
      await waitMs(10, 0);
      counter.take(10, 0);
      counter.refund(4, 0);
      expect(counter.remaining(0)).toBe(4);
      counter.refund(100, 0);
      expect(counter.remaining(0)).toBe(10);
      expect(await waitMs(10, 0)).toBe(0);
    });

    law("a new limit keeps the used share", async () => {
      const { counter, waitMs } = setUp(100);
      await waitMs(50, 0);
      counter.take(50, 0);
      counter.resize(10, 0);
      expect([counter.limit, counter.remaining(0)]).toEqual([10, 5]);
      expect(await waitMs(5, 0)).toBe(0);
      expect(await waitMs(6, 0)).toBeGreaterThan(0);
    });

    law("counters of other scopes and rates are not affected", async () => {
      const { counters, limiter } = create(() => 0);
      const limits = { requestsPerMinute: 10, tokensPerMinute: 10 };
      const [one, other] = ["key:key_1", "key:key_2"].map(
        (id) => new LimitScope(id, limits, counters, 0),
      ) as [LimitScope, LimitScope];
      rateOf(one).take(10, 0);
      await limiter?.read([one, other]);
      expect(rateOf(one).remaining(0)).toBe(0);
      expect(one.bucket("tokens")?.remaining(0)).toBe(10);
      expect(rateOf(other).remaining(0)).toBe(10);
    });

    law("slots are free up to their limit, and again after a release", async () => {
      const { counters, limiter } = create(() => 0);
      const slots = counters.createSlots("key:key_1");
      expect(slots.mayTake).toBe(true);
      slots.limit = 2;
      const lease = await acquire(slots, limiter);
      expect(lease).toBeDefined();
      expect(await acquire(slots, limiter)).toBeDefined();
      expect(await acquire(slots, limiter)).toBeUndefined();
      expect([slots.isExhausted(), slots.inFlight]).toEqual([true, 2]);
      lease?.release();
      expect([slots.isExhausted(), slots.inFlight]).toEqual([false, 1]);
      expect(await acquire(slots, limiter)).toBeDefined();
    });
  });
}
