/** Target selection: the first target, the next one, and the error if there is none. */
import { describe, expect, test } from "bun:test";
import type { Candidate } from "../../server/routing/policies.ts";
import {
  noHealthyTarget,
  selectHealthy,
  selectTarget,
} from "../../server/routing/select-target.ts";
import { randomFrom } from "../fuzz/routing-simulation.ts";
import {
  among,
  candidateNamed,
  contextAt,
  eject,
  fail,
  rateLimit,
  succeed,
} from "./routing-fixture.ts";

describe("tiers", () => {
  test("are used in order: the next tier only if no target of the earlier tiers can serve", () => {
    const [first, second, third] = [0, 1, 2].map((tier) =>
      candidateNamed(`t${tier}`, { tier }),
    ) as [Candidate, Candidate, Candidate];
    const candidates = [first, second, third];
    const pick = (now: number, tried?: Candidate[]) =>
      selectTarget(among(candidates, { tried }), contextAt(now))?.candidate;
    expect(pick(0)).toBe(first);
    expect(pick(0, [first])).toBe(second);
    rateLimit(first, 0, 5000);
    eject(second, 0);
    expect(pick(1)).toBe(third);
    expect(pick(1, [third])).toBe(undefined);
    expect(pick(5001, [second])).toBe(first);
  });

  test("that are busy are still preferred to the next tier, which may cost more", () => {
    const [first, second] = [candidateNamed("first"), candidateNamed("second", { tier: 1 })];
    first.health.inFlight = 1000;
    expect(first.health.concurrency.hasCapacity()).toBe(false);
    expect(selectTarget(among([first, second]), contextAt(0))?.candidate).toBe(first);
  });
});

test("within a tier, a target at its concurrency limit is skipped while another has capacity", () => {
  const [full, free] = [candidateNamed("full"), candidateNamed("free")];
  for (let request = 0; request < 20; request++) succeed(free, 0, 5000);
  for (let request = 0; request < 20; request++) succeed(full, 0, 1);
  full.health.inFlight = 20;
  free.health.inFlight = 15;
  expect(selectTarget(among([full, free]), contextAt(1))?.candidate).toBe(free);
});

describe("when no target is healthy", () => {
  test("a target that cools down is preferred to an ejected one", () => {
    const [dead, cooling] = [candidateNamed("dead"), candidateNamed("cooling")];
    eject(dead, 0);
    rateLimit(cooling, 0);
    expect(selectTarget(among([dead, cooling]), contextAt(500))?.candidate).toBe(cooling);
  });

  test("each ejected target is probed by one request a second, and no other is sent", () => {
    const [one, other] = [candidateNamed("one"), candidateNamed("other")];
    for (const candidate of [one, other]) eject(candidate, 0);
    // The backoff has grown, but no other target can serve.
    for (const now of [1000, 3000, 7000])
      for (const candidate of [one, other]) fail(candidate, now);
    const attempts: number[] = [];
    for (let now = 7000; now < 12_000; now += 10) {
      const selected = selectTarget(among([one, other]), contextAt(now));
      if (!selected) continue;
      attempts.push(now);
      fail(selected.candidate, now);
    }
    expect(attempts.length).toBeGreaterThanOrEqual(8);
    expect(attempts.length).toBeLessThanOrEqual(12);
  });

  test("the error carries the time until the next probe", () => {
    const [one, other] = [candidateNamed("one"), candidateNamed("other")];
    eject(one, 0);
    eject(other, 300);
    const { kind: errorKind, details, definition } = noHealthyTarget("m", [one, other], 400);
    expect({ errorKind, ...details }).toEqual({
      errorKind: "no_healthy_target",
      retryAfterMs: 600,
    });
    expect([definition.status, definition.retry]).toEqual([503, "later"]);
  });

  test("because all are rate limited, the error is a rate limit error", () => {
    const [one, other] = [candidateNamed("one"), candidateNamed("other")];
    rateLimit(one, 0, 9000);
    rateLimit(other, 0, 4000);
    expect(selectTarget(among([one, other]), contextAt(1000))).toBe(undefined);
    const { kind: errorKind, details, definition } = noHealthyTarget("m", [one, other], 1000);
    expect({ errorKind, ...details }).toEqual({
      errorKind: "upstream_rate_limit",
      retryAfterMs: 3000,
    });
    expect(definition.status).toBe(429);
  });
});

describe("configured limits of targets", () => {
  const [limited, other] = [candidateNamed("limited", { scopes: ["x"] }), candidateNamed("other")];
  const capacity = { hasCapacity: () => false, isBusy: () => false };

  test("cause the next target to be selected, or the limit's own error if there is none", () => {
    expect(selectTarget(among([limited, other], { capacity }), contextAt(0))?.candidate).toBe(
      other,
    );
    const tried = [other];
    expect(
      selectTarget(among([limited, other], { capacity, tried }), contextAt(0))?.candidate,
    ).toBe(limited);
    expect(selectHealthy(among([limited, other], { capacity, tried }), contextAt(0), "none")).toBe(
      undefined,
    );
  });

  test("on concurrency cause a target with a free slot to be selected", () => {
    const busy = { hasCapacity: () => true, isBusy: () => true };
    for (let request = 0; request < 20; request++) {
      const context = contextAt(0, { random: randomFrom(request) });
      expect(selectTarget(among([limited, other], { capacity: busy }), context)?.candidate).toBe(
        other,
      );
    }
  });
});
