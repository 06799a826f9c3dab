/** Limits that a reload removes and another reload restores. */
import { expect, test } from "bun:test";
import type { Limits } from "../../contract/limits-and-budgets.ts";
import { Limiter } from "../../server/limits/limiter.ts";
import { localRateLimitCounters } from "../../server/limits/rate-limit-counters.ts";

const limits = { concurrent: 2, requestsPerMinute: 60, tokensPerMinute: 600 };

function limiterWith(table: Readonly<Record<string, Limits>>) {
  const limiter = new Limiter(localRateLimitCounters);
  const apply = (next: Readonly<Record<string, Limits>>, now: number): void =>
    limiter.apply(new Map(Object.entries(next)), now);
  apply(table, 0);
  const scopeOf = (id: string, now: number) => limiter.find(now, [id])[0];
  const remaining = (id: string, now: number) =>
    scopeOf(id, now)?.buckets.map(({ rate, bucket }) => [rate, bucket.remaining(now)]);
  return { apply, scopeOf, remaining };
}

test("usage and requests in flight stay counted when a scope is removed and restored", () => {
  const { apply, scopeOf, remaining } = limiterWith({ key: limits });
  const before = scopeOf("key", 0)!;
  before.bucket("requests")!.take(60, 0);
  before.slots.acquire();
  before.slots.acquire();
  apply({}, 1000);
  expect(scopeOf("key", 1000)).toBeUndefined();
  expect(before.slots.hasFreeSlot).toBe(true);
  expect(before.buckets).toEqual([]);
  apply({ other: limits }, 1500);
  apply({ key: limits }, 2000);
  expect(remaining("key", 2000)).toEqual([
    ["requests", 2],
    ["tokens", 600],
  ]);
  const after = scopeOf("key", 2000)!;
  expect(after.slots.hasFreeSlot).toBe(false);
  before.slots.release(1);
  expect(after.slots.hasFreeSlot).toBe(true);
});

test("usage stays counted when one limit of a scope is removed and restored with another value", () => {
  const { apply, scopeOf, remaining } = limiterWith({ key: limits });
  scopeOf("key", 0)!.bucket("requests")!.take(60, 0);
  apply({ key: { tokensPerMinute: 600 } }, 0);
  expect(remaining("key", 0)).toEqual([["tokens", 600]]);
  apply({ key: { ...limits, requestsPerMinute: 120 } }, 30_000);
  expect(new Map(remaining("key", 30_000) as [string, number][]).get("requests")).toBe(60);
});

test("a removed scope is kept until its limits are full and its requests have ended, within a bound", () => {
  const ids = Array.from({ length: 10_001 }, (_, at) => `key ${at}`);
  const table = Object.fromEntries(ids.map((id) => [id, limits]));
  const { apply, scopeOf } = limiterWith(table);
  const scopes = ids.map((id) => scopeOf(id, 0)!);
  for (const scope of scopes) scope.bucket("requests")!.take(60, 0);
  scopes[5]!.slots.acquire();
  apply({}, 0);
  // Above the bound, the scope that was removed first is new.
  apply(table, 0);
  const kept = ids.map((id, at) => scopeOf(id, 0) === scopes[at]);
  expect([kept[0], kept[1], kept[10_000]]).toEqual([false, true, true]);
  apply({}, 0);
  apply({}, 60_000);
  apply(table, 60_000);
  const used = ids.filter((id, at) => scopeOf(id, 60_000) === scopes[at]);
  expect(used).toEqual(["key 5"]);
});
