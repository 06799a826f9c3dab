/** Laws (contract tests) of `RateLimitCounters`, for every implementation: local counters, and slices of shared ones. */
import { describe, expect, test } from "bun:test";
import type { RateLimitCounters } from "../../server/limits/rate-limit-counters.ts";

export function rateLimitCounterLaws(name: string, create: () => RateLimitCounters): void {
  const minute = 60_000;
  const requests = (limit: number, now = 0) =>
    create().createRate("key:key_1", "requests", limit, now);

  describe(`${name} rate limit counters`, () => {
    test("a new counter has its limit, and a request within it does not wait", () => {
      const counter = requests(60);
      expect([counter.limit, counter.remaining(0), counter.waitMs(60, 0)]).toEqual([60, 60, 0]);
      expect(counter.msUntilFull(0)).toBe(0);
    });

    test("no minute admits more than the limit and its refill", () => {
      const counter = requests(60);
      let admitted = 0;
      for (let now = 0; now < minute; now += 7) {
        if (counter.waitMs(1, now) > 0) continue;
        counter.take(1, now);
        admitted++;
      }
      expect(admitted).toBeGreaterThan(60);
      expect(admitted).toBeLessThanOrEqual(120);
    });

    test("after the wait that a counter names, and not before, the request fits", () => {
      const counter = requests(60);
      counter.take(60, 0);
      const waitMs = counter.waitMs(3, 0);
      expect(waitMs).toBeGreaterThan(0);
      expect(counter.waitMs(3, waitMs - 1)).toBeGreaterThan(0);
      expect(counter.waitMs(3, waitMs)).toBe(0);
    });

    test("a request above the limit never fits", () => {
      expect(requests(10).waitMs(11, 0)).toBe(Number.POSITIVE_INFINITY);
    });

    test("usage above the limit counts, and later requests wait for it", () => {
      const counter = requests(60);
      counter.take(90, 0);
      expect(counter.remaining(0)).toBe(0);
      expect(counter.waitMs(1, 30_000)).toBeGreaterThan(0);
      expect(counter.waitMs(1, 31_000)).toBe(0);
    });

    test("what is refunded can be taken again, and never more than the limit", () => {
      const counter = requests(10);
      counter.take(10, 0);
      counter.refund(4, 0);
      expect(counter.remaining(0)).toBe(4);
      counter.refund(100, 0);
      expect(counter.remaining(0)).toBe(10);
    });

    test("a new limit keeps the share that is used", () => {
      const counter = requests(100);
      counter.take(50, 0);
      counter.resize(10, 0);
      expect([counter.limit, counter.remaining(0)]).toEqual([10, 5]);
    });

    test("a clock that is set back admits nothing more", () => {
      const counter = requests(10, minute);
      counter.take(10, minute);
      expect(counter.remaining(0)).toBe(0);
      expect(counter.waitMs(1, 0)).toBeGreaterThan(0);
    });

    test("counters of other scopes and rates are not affected", () => {
      const counters = create();
      const one = counters.createRate("key:key_1", "requests", 10, 0);
      const others = [
        counters.createRate("key:key_2", "requests", 10, 0),
        counters.createRate("key:key_1", "tokens", 10, 0),
      ];
      one.take(10, 0);
      expect(others.map((other) => other.remaining(0))).toEqual([10, 10]);
    });

    test("slots are free up to their limit, and again after a release", () => {
      const slots = create().createSlots("key:key_1");
      expect(slots.hasFreeSlot).toBe(true);
      slots.limit = 2;
      slots.acquire();
      slots.acquire();
      expect([slots.hasFreeSlot, slots.inFlight]).toEqual([false, 2]);
      slots.release(10);
      expect([slots.hasFreeSlot, slots.inFlight]).toEqual([true, 1]);
    });
  });
}
