/** The limit scopes of end users and tags, whose number only clients decide. */
import { expect, test } from "bun:test";
import { SlotLease } from "../../server/limits/concurrency-slots.ts";
import { Limiter, maxEndUserAndTagScopes, take } from "../../server/limits/limiter.ts";
import { localRateLimitCounters } from "../../server/limits/rate-limit-counters.ts";

const demand = { requests: 1, tokens: 0, images: 0, pixels: 0 };
const table = new Map([["end_user:shop", { requestsPerMinute: 10, concurrent: 2 }]]);
const userScope = (at: number): string => `end_user:shop\tuser ${at}`;

function createLimiter(): Limiter {
  const limiter = new Limiter(localRateLimitCounters);
  limiter.apply(table, 0);
  return limiter;
}

test("a scope of an end user has the limits of its project's end users, and follows a reload", () => {
  const limiter = createLimiter();
  const [scope] = limiter.find(0, [userScope(1)]);
  expect(scope?.bucket("requests")?.limit).toBe(10);
  limiter.apply(new Map([["end_user:shop", { requestsPerMinute: 20 }]]), 0);
  expect(scope?.bucket("requests")?.limit).toBe(20);
  expect(limiter.find(0, [userScope(1)])[0]).toBe(scope!);
  limiter.apply(new Map(), 0);
  expect(limiter.find(0, [userScope(1)])).toEqual([]);
  expect(limiter.size).toBe(0);
});

test("scopes that are full again and unused are deleted, and no others", () => {
  const limiter = createLimiter();
  const [held] = limiter.find(0, [userScope(0)]);
  new SlotLease([held!.slots], { clock: () => 0, onRelease: () => undefined, newId: () => "" });
  for (let at = 1; at <= 500; at++) take(limiter.find(0, [userScope(at)]), demand, 0);
  expect(limiter.size).toBe(501);
  // One minute later their buckets are full. Each new scope replaces up to two of them.
  for (let at = 1000; at < 1400; at++) limiter.find(60_000, [userScope(at)]);
  expect(limiter.size).toBe(401);
  expect(limiter.find(60_000, [userScope(0)])[0]).toBe(held!);
});

test("a limit is exact while other end users come and go", () => {
  const limiter = createLimiter();
  let served = 0;
  for (let second = 0; second < 600; second++) {
    const now = second * 1000;
    // Ten other end users in each minute.
    if (second % 6 === 0) take(limiter.find(now, [userScope(second + 1)]), demand, now);
    if (!take(limiter.find(now, [userScope(0)]), demand, now)) served++;
  }
  // The burst, and ten in each of the ten minutes.
  expect(served).toBe(10 + 99);
});

test("at the maximum, a new end user is refused, and the others are served", () => {
  const limiter = createLimiter();
  const newest = userScope(maxEndUserAndTagScopes);
  for (let at = 0; at < maxEndUserAndTagScopes; at++)
    take(limiter.find(0, [userScope(at)]), demand, 0);
  expect(() => limiter.find(1000, [newest])).toThrow("counts up to 50000 at the same time");
  expect(limiter.find(1000, [userScope(7)])).toHaveLength(1);
  expect(limiter.size).toBe(maxEndUserAndTagScopes);
  expect(limiter.find(61_001, [newest])).toHaveLength(1);
});
