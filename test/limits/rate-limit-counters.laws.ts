/**
 * Laws (contract tests) of `RateLimitCounters`, for every implementation: local counters, and slices of shared ones.
 */
import { describe, expect, type Test, test } from "bun:test";
import type { RateCounter, RateLimitCounters } from "../../server/limits/rate-limit-counters.ts";

/** `create`: counters whose clock is `now`. */
export function rateLimitCounterLaws(
  name: string,
  create: (now: () => number) => RateLimitCounters,
  law: Test<[]> = test,
): void {
  const minute = 60_000;

  /** A counter, and whether it admits a request after the lease of the items was requested. */
  const setUp = (limit: number, at = 0) => {
    let now = at;
    const counter = create(() => now).createRate("key:key_1", "requests", limit, now);
    const waitMs = async (count: number, later: number): Promise<number> => {
      now = later;
      await counter.leases?.lease(count, now);
      const ms = counter.waitMs(count, now);
      expect(ms > 0 || (counter.leases?.isLeased(count, now) ?? true)).toBe(true);
      return ms;
    };
    return { counter, waitMs };
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
      const counters = create(() => 0);
      const one = counters.createRate("key:key_1", "requests", 10, 0);
      const others: RateCounter[] = [
        counters.createRate("key:key_2", "requests", 10, 0),
        counters.createRate("key:key_1", "tokens", 10, 0),
      ];
      one.take(10, 0);
      await one.leases?.lease(1, 0);
      for (const other of others) await other.leases?.lease(1, 0);
      expect(others.map((other) => other.remaining(0))).toEqual([10, 10]);
    });

    law("slots are free up to their limit, and again after a release", async () => {
      const slots = create(() => 0).createSlots("key:key_1");
      expect(slots.hasFreeSlot).toBe(true);
      slots.limit = 2;
      for (let request = 0; request < 2; request++) {
        await slots.lease?.();
        expect(slots.hasFreeSlot).toBe(true);
        slots.acquire();
      }
      await slots.lease?.();
      expect([slots.hasFreeSlot, slots.inFlight]).toEqual([false, 2]);
      slots.release(10);
      expect([slots.hasFreeSlot, slots.inFlight]).toEqual([true, 1]);
    });
  });
}
