/** Target selection: the first target, the next one, and the error if there is none. */
import { describe, expect, test } from "bun:test";
import type { Candidate } from "../../server/routing/policies/policy.ts";
import { powerOfTwoChoices } from "../../server/routing/policies/two-choices.ts";
import { RetryBudget } from "../../server/routing/retry-budget.ts";
import {
  noHealthyTarget,
  type Selection,
  selectHealthy,
  selectTarget,
} from "../../server/routing/select-target.ts";
import { randomFrom } from "../fuzz/scheduling-world.ts";
import { answers, dies, fails, half, isLimited, questionAt, seatNamed } from "./routing-fixture.ts";

const among = (candidates: readonly Candidate[], more: Partial<Selection> = {}): Selection => ({
  candidates,
  policy: powerOfTwoChoices,
  tried: undefined,
  capacity: undefined,
  ...more,
});

describe("tiers", () => {
  test("are asked in their order: the next only where none before it can serve", () => {
    const [first, second, third] = [0, 1, 2].map((tier) => seatNamed(`t${tier}`, { tier })) as [
      Candidate,
      Candidate,
      Candidate,
    ];
    const candidates = [first, second, third];
    const pick = (now: number, tried?: Candidate[]) =>
      selectTarget(among(candidates, { tried }), questionAt(now));
    expect(pick(0)).toBe(first);
    expect(pick(0, [first])).toBe(second);
    isLimited(first, 0, 5000);
    dies(second, 0);
    expect(pick(1)).toBe(third);
    expect(pick(1, [third])).toBe(undefined);
    expect(pick(5001, [second])).toBe(first);
  });

  test("that are busy are not left for one that may cost more", () => {
    const [first, second] = [seatNamed("first"), seatNamed("second", { tier: 1 })];
    first.health.inFlight = 1000;
    expect(first.health.concurrency.hasRoom()).toBe(false);
    expect(selectTarget(among([first, second]), questionAt(0))).toBe(first);
  });
});

test("within a tier, one that has as much as it can take is passed over while another has room", () => {
  const [full, free] = [seatNamed("full"), seatNamed("free")];
  for (let call = 0; call < 20; call++) answers(free, 0, 5000);
  for (let call = 0; call < 20; call++) answers(full, 0, 1);
  full.health.inFlight = 20;
  free.health.inFlight = 15;
  expect(selectTarget(among([full, free]), questionAt(1))).toBe(free);
});

describe("when nobody is well", () => {
  test("one that serves some of its calls is asked before one that serves none", () => {
    const [dead, partial] = [seatNamed("dead"), seatNamed("partial")];
    dies(dead, 0);
    isLimited(partial, 0);
    expect(selectTarget(among([dead, partial]), questionAt(500))).toBe(partial);
  });

  test("one call a second looks whether the dead are back, and the others are told at once", () => {
    const [one, other] = [seatNamed("one"), seatNamed("other")];
    for (const candidate of [one, other]) dies(candidate, 0);
    // The waits have grown, but nobody else can serve.
    for (const now of [1000, 3000, 7000])
      for (const candidate of [one, other]) fails(candidate, now);
    const asked: number[] = [];
    for (let now = 7000; now < 12_000; now += 10) {
      const candidate = selectTarget(among([one, other]), questionAt(now));
      if (!candidate) continue;
      asked.push(now);
      fails(candidate, now);
    }
    expect(asked.length).toBeGreaterThanOrEqual(8);
    expect(asked.length).toBeLessThanOrEqual(12);
  });

  test("callers hear when it is worth asking again", () => {
    const [one, other] = [seatNamed("one"), seatNamed("other")];
    dies(one, 0);
    dies(other, 300);
    const { kind: fault, details, definition: row } = noHealthyTarget("m", [one, other], 400);
    expect({ fault, ...details }).toEqual({ fault: "no_healthy_target", retryAfterMs: 600 });
    expect([row.status, row.retry]).toEqual([503, "later"]);
  });

  test("and it is only a matter of rate, it is called so", () => {
    const [one, other] = [seatNamed("one"), seatNamed("other")];
    isLimited(one, 0, 9000);
    isLimited(other, 0, 4000);
    expect(selectTarget(among([one, other]), questionAt(1000))).toBe(undefined);
    const { kind: fault, details, definition: row } = noHealthyTarget("m", [one, other], 1000);
    expect({ fault, ...details }).toEqual({ fault: "upstream_rate_limit", retryAfterMs: 3000 });
    expect(row.status).toBe(429);
  });
});

describe("the gateway's own limits", () => {
  const [limited, other] = [seatNamed("limited", { scopes: ["x"] }), seatNamed("other")];
  const capacity = { hasCapacity: () => 500, isBusy: () => false };

  test("lead to another target, and to the limit's own words where there is none", () => {
    expect(selectTarget(among([limited, other], { capacity }), questionAt(0))).toBe(other);
    const tried = [other];
    expect(selectTarget(among([limited, other], { capacity, tried }), questionAt(0))).toBe(limited);
    expect(selectHealthy(among([limited, other], { capacity, tried }), questionAt(0), "none")).toBe(
      undefined,
    );
  });

  test("of calls at a time lead to one where nobody has to wait", () => {
    const busy = { hasCapacity: () => true as const, isBusy: () => true };
    for (let call = 0; call < 20; call++) {
      const context = questionAt(0, { random: randomFrom(call) });
      expect(selectTarget(among([limited, other], { capacity: busy }), context)).toBe(other);
    }
  });
});

describe("second tries", () => {
  test("are a fifth of all calls and a few each second, however much fails", () => {
    for (let seed = 1; seed <= 200; seed++) {
      const random = randomFrom(seed);
      const budget = new RetryBudget();
      const perSecond = 1 + random() * 500;
      let [now, calls, extra] = [0, 0, 0];
      const seconds = 30;
      while (now < seconds * 1000) {
        now += 1000 / perSecond;
        calls++;
        budget.earn(now);
        for (let ask = 0; ask < 3; ask++) if (budget.spend(now)) extra++;
        expect(extra).toBeLessThanOrEqual(0.2 * calls + 50 * (Math.ceil(now / 9000) + 1));
      }
      expect(extra).toBeGreaterThan(0.2 * calls);
    }
  });

  test("are there for those who call rarely, and nothing is given for turning the clock back", () => {
    const budget = new RetryBudget();
    expect(budget.take(0, half)).toBe(0);
    let taken = 1;
    for (let now = 9000; now > 0; now -= 100) if (budget.spend(now)) taken++;
    expect(taken).toBe(50);
  });

  test("of a crowd are spread out, a few are not", () => {
    const budget = new RetryBudget();
    const random = randomFrom(9);
    const waits = Array.from({ length: 20 }, () => budget.take(50, random)!);
    expect(waits.slice(0, 4)).toEqual([0, 0, 0, 0]);
    expect(new Set(waits.slice(4)).size).toBe(16);
    expect(Math.max(...waits)).toBeLessThan(100);
    expect(budget.take(250, random)).toBe(0);
  });
});
