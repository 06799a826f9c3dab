/** Circuit breaker: when a target is ejected, for how long, and how it recovers. */
import { describe, expect, test } from "bun:test";
import { AdaptiveConcurrency } from "../../server/routing/health/adaptive-concurrency.ts";
import { OutcomeWindow } from "../../server/routing/health/circuit-breaker.ts";
import type { TargetChange, TargetHealth } from "../../server/routing/health/target-health.ts";
import { randomFrom } from "../fuzz/routing-simulation.ts";
import { candidateNamed, eject, fail, rateLimit, succeed } from "./routing-fixture.ts";

describe("a target that fails", () => {
  test("is ejected after five consecutive failures, and one success between them resets the count", () => {
    const changes: TargetChange[] = [];
    const candidate = candidateNamed("a", { changes });
    for (let round = 0; round < 10; round++) {
      for (let request = 0; request < 4; request++) fail(candidate, round);
      succeed(candidate, round, 0);
    }
    expect(candidate.health.state(10, false)).toBe("available");
    eject(candidate, 10);
    expect(candidate.health.state(10, false)).toBe("unavailable");
    expect(changes).toEqual([
      {
        transition: "ejected",
        target: candidate.target,
        reason: "5 failures in a row, the last: upstream_error",
      },
    ]);
  });

  test("now and then, sometimes several times in a row, still serves when no other target does", () => {
    const random = randomFrom(7);
    const candidate = candidateNamed("a");
    let [attempts, served] = [0, 0];
    for (let at = 0; at < 2000; at += 2) {
      if (candidate.health.state(at, true) === "unavailable") continue;
      attempts++;
      if (random() < 0.4) fail(candidate, at);
      else {
        succeed(candidate, at, 1);
        served++;
      }
    }
    // The target fails 40 % of its requests: nearly all other requests are served, not refused.
    expect(attempts).toBeGreaterThan(950);
    expect(served / 1000).toBeGreaterThan(0.55);
  });

  test("always is ejected, also if it failed only now and then before", () => {
    const candidate = candidateNamed("a");
    for (let at = 0; at < 40; at++) {
      if (at % 3 === 0) fail(candidate, at);
      else succeed(candidate, at, 0);
    }
    for (let request = 0; request < 30; request++) fail(candidate, 100);
    expect(candidate.health.state(100, true)).toBe("unavailable");
  });

  test("is probed by one request after a second, and by the next only when that one has ended", () => {
    const changes: TargetChange[] = [];
    const candidate = candidateNamed("a", { changes });
    const { health } = candidate;
    eject(candidate, 0);
    expect(health.state(999, false)).toBe("unavailable");
    expect(health.state(1000, false)).toBe("probe");
    const probe = health.start(1000);
    expect(probe).toBe(true);
    expect(health.state(1010, false)).toBe("unavailable");
    health.recordSuccess(1020, 20, 0, probe, [health]);
    expect(health.state(1020, false)).toBe("available");
    expect(changes.map(({ transition }) => transition)).toEqual(["ejected", "recovered"]);
  });

  test("is probed again by another request when the first probe gets no response", () => {
    const { health } = candidateNamed("a");
    eject({ ...candidateNamed("a"), health }, 0);
    health.start(1000);
    expect(health.state(2999, false)).toBe("unavailable");
    expect(health.state(3000, false)).toBe("probe");
  });

  test("is ejected twice as long after each probe without a response, however that probe ends", () => {
    for (const ends of [true, false]) {
      const { health } = candidateNamed("a");
      eject({ ...candidateNamed("a"), health }, 0);
      const waits: number[] = [];
      let now = 1000;
      for (let turn = 0; turn < 6; turn++) {
        const probe = health.start(now);
        const startedAt = now;
        now += 2000;
        if (ends) health.recordEnd(now, { kind: "neutral" }, probe, [health]);
        while (health.state(now, false) !== "probe") now += 100;
        waits.push(now - startedAt);
      }
      expect(waits).toEqual([2000, 4000, 8000, 16_000, 30_000, 30_000]);
    }
  });

  test("is ejected twice as long each time, and for half a minute at most", () => {
    const candidate = candidateNamed("a");
    eject(candidate, 0);
    let now = 0;
    const waits: number[] = [];
    for (let fall = 0; fall < 8; fall++) {
      const wait = candidate.health.breaker.waitMs(now, false);
      waits.push(wait);
      now += wait;
      fail(candidate, now);
    }
    expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
    // If no other target can serve, requests wait less.
    expect(candidate.health.waitMs(now)).toBe(1000);
  });

  test("does not recover because of a response to a request from before the ejection", () => {
    const { health } = candidateNamed("a");
    const probe = health.start(0);
    eject({ ...candidateNamed("a"), health }, 10);
    health.recordSuccess(20, 20, 0, probe, [health]);
    expect(health.state(20, false)).toBe("unavailable");
  });

  test("is not judged by requests that clients canceled", () => {
    const { health } = candidateNamed("a");
    for (let request = 0; request < 100; request++) {
      health.recordEnd(0, { kind: "neutral" }, health.start(0), [health]);
    }
    expect(health.state(0, false)).toBe("available");
    expect(health.inFlight).toBe(0);
  });

  test("is probed after a long time without requests", () => {
    for (const laterMs of [5000, 1e9]) {
      const candidate = candidateNamed("a");
      eject(candidate, 1e9);
      expect(candidate.health.state(1e9 + laterMs, false)).toBe("probe");
    }
  });
});

describe("a target that fails more often than others", () => {
  const peersOf = (...candidates: { health: TargetHealth }[]) =>
    candidates.map(({ health }) => health);
  /** Every third request fails: never five consecutive ones. */
  const flicker = (
    candidate: ReturnType<typeof candidateNamed>,
    peers: TargetHealth[],
    requests = 30,
  ) => {
    for (let request = 0; request < requests; request++) {
      if (request % 3 === 0) fail(candidate, request, peers);
      else succeed(candidate, request, 0, peers);
    }
  };

  test("is ejected as an outlier, but is used when no other target is available", () => {
    const [bad, good] = [candidateNamed("bad"), candidateNamed("good")];
    for (let request = 0; request < 30; request++) succeed(good, request, 0);
    flicker(bad, peersOf(bad, good));
    expect(bad.health.breaker.reason).toMatch(/% of its requests fail$/);
    expect(bad.health.state(30, false)).toBe("degraded");
  });

  test("is not ejected when all fail alike, or when half of them are already ejected", () => {
    const [one, other] = [candidateNamed("one"), candidateNamed("other")];
    const both = peersOf(one, other);
    for (let request = 0; request < 60; request++) {
      flicker(one, both, 1);
      flicker(other, both, 1);
      for (const candidate of [one, other])
        for (let more = 0; more < 2; more++) succeed(candidate, request, 0);
    }
    expect(both.map((health) => health.state(60, false))).toEqual(["available", "available"]);

    const [bad, good, dead] = [
      candidateNamed("bad"),
      candidateNamed("good"),
      candidateNamed("dead"),
    ];
    for (let request = 0; request < 30; request++) succeed(good, request, 0);
    eject(dead, 0);
    flicker(bad, peersOf(bad, good, dead));
    expect(bad.health.state(30, false)).toBe("available");
  });

  test("needs three successful probes in a row to recover, unless no other target is available", () => {
    const [bad, good] = [candidateNamed("bad"), candidateNamed("good")];
    for (let request = 0; request < 30; request++) succeed(good, request, 0);
    flicker(bad, peersOf(bad, good), 22);
    for (let probe = 0; probe < 3; probe++) {
      expect(bad.health.breaker.open).toBe(true);
      succeed(bad, 2000, 0, peersOf(bad, good));
    }
    expect(bad.health.breaker.open).toBe(false);
  });
});

describe("the only target of a model", () => {
  test("is used although a few of its requests failed: a client with little traffic is not locked out", () => {
    const candidate = candidateNamed("a");
    for (let request = 0; request < 4; request++) fail(candidate, request * 60_000);
    expect(candidate.health.state(180_001, true)).toBe("available");
  });

  test("is used although its responses are invalid: the next input may succeed", () => {
    const { health } = candidateNamed("a");
    const outcome = { kind: "failure", errorKind: "upstream_invalid", busy: false } as const;
    for (let request = 0; request < 20; request++)
      health.recordEnd(request, outcome, health.start(request), [health]);
    expect(health.state(20, true)).toBe("available");
  });

  test("that keeps failing is probed every second, however long that goes on", () => {
    const candidate = candidateNamed("a");
    eject(candidate, 0);
    for (let now = 0; now < 60_000; now += 1000) {
      expect(candidate.health.state(now + 1, true)).toBe("unavailable");
      expect(candidate.health.waitMs(now + 1)).toBeLessThanOrEqual(1000);
      expect(candidate.health.state(now + 1000, true)).toBe("probe");
      fail(candidate, now + 1000);
    }
    succeed(candidate, 61_000, 5);
    expect(candidate.health.state(61_005, true)).toBe("available");
  });
});

describe("a target at its rate limit", () => {
  test("cools down for its retry-after, and does not count as failing", () => {
    const changes: TargetChange[] = [];
    const candidate = candidateNamed("a", { changes });
    for (let request = 0; request < 20; request++) rateLimit(candidate, request, 7000);
    expect(candidate.health.state(7018, true)).toBe("unavailable");
    expect(candidate.health.isRateLimited(7018)).toBe(true);
    expect(candidate.health.state(7020, true)).toBe("available");
    expect(changes).toEqual([]);
  });

  test("without retry-after is used only when no other target is available", () => {
    const candidate = candidateNamed("a");
    rateLimit(candidate, 0);
    expect(candidate.health.state(999, false)).toBe("degraded");
    expect(candidate.health.state(1000, false)).toBe("available");
    rateLimit(candidate, 1000);
    expect(candidate.health.state(2999, false)).toBe("degraded");
    expect(candidate.health.state(3000, false)).toBe("available");
  });

  test("is used again after five minutes at the latest", () => {
    const candidate = candidateNamed("a");
    rateLimit(candidate, 1e6, 86_400_000);
    expect(candidate.health.waitMs(1e6)).toBe(300_000);
    expect(candidate.health.state(1e6 + 300_001, false)).toBe("available");
  });
});

describe("a target that does not take the gateway's key", () => {
  test("is used only when no other target is available, and is reported once", () => {
    const changes: TargetChange[] = [];
    const { health } = candidateNamed("a", { changes });
    for (let request = 0; request < 3; request++) {
      const outcome = { kind: "refused", errorKind: "upstream_credentials" } as const;
      health.recordEnd(request, outcome, health.start(request), [health]);
    }
    expect(health.state(10, false)).toBe("degraded");
    expect(changes.map(({ transition, reason }) => `${transition}: ${reason}`)).toEqual([
      "ejected: upstream_credentials",
    ]);
    health.recordSuccess(20, 1, 0, health.start(19), [health]);
    expect(health.state(20, false)).toBe("available");
    expect(changes).toHaveLength(2);
  });
});

describe("a target that is silent", () => {
  test("gets no more requests while several wait for its first response and others serve", () => {
    const { health } = candidateNamed("a");
    for (let request = 0; request < 5; request++) health.start(0);
    expect(health.state(1499, false)).toBe("available");
    expect(health.state(1500, false)).toBe("degraded");
    expect(health.state(1500, true)).toBe("available");
    health.recordSuccess(1600, 1600, 0, false, [health]);
    expect(health.state(1700, false)).toBe("available");
  });

  const rejected = { kind: "reachable" } as const;

  test("is not ejected for requests without a response from before it rejected another one", () => {
    const { health } = candidateNamed("a");
    for (let request = 0; request < 4; request++) health.recordSilence(100, health.responseCount);
    health.start(200);
    health.recordEnd(300, rejected, false, [health]);
    expect(health.hasRespondedSince(250)).toBe(true);
    health.recordSilence(400, health.responseCount);
    expect(health.state(400, false)).toBe("available");
  });

  test("and was ejected for it recovers when it rejects a request: it responds again", () => {
    const { health } = candidateNamed("a");
    health.start(0);
    for (let request = 0; request < 5; request++) health.recordSilence(100, health.responseCount);
    expect(health.state(100, false)).toBe("unavailable");
    health.recordEnd(200, rejected, false, [health]);
    expect(health.state(200, false)).toBe("available");
  });
});

test("a target is judged by its latest outcomes, and never by old ones", () => {
  const window = new OutcomeWindow();
  for (let now = 0; now < 1000; now++) window.add(now, false);
  expect([window.count(1000), window.failureRate(1000)]).toEqual([64, 1]);
  for (let now = 1000; now < 1032; now++) window.add(now, true);
  expect(window.failureRate(1032)).toBe(0.5);
  expect(window.count(301_030)).toBe(1);
  expect([window.count(400_000), window.failureRate(400_000)]).toEqual([0, 0]);
});

test("the adaptive concurrency limit of a target decreases when it is too slow, and increases when it keeps up", () => {
  const concurrency = new AdaptiveConcurrency();
  const kept = (inFlight: number): void => {
    concurrency.slots.inFlight = inFlight;
    concurrency.increase();
  };
  const first = concurrency.limit;
  for (let at = 0; at < 100; at++) concurrency.onTimeout(0);
  expect(concurrency.limit).toBeLessThan(first);
  const least = concurrency.limit;
  expect(least).toBeGreaterThan(first / 2);
  for (let at = 0; at < 200; at++) kept(concurrency.limit);
  expect(concurrency.limit).toBeGreaterThan(first);
  for (let at = 0; at < 1_000_000; at++) kept(1_000_000);
  expect(concurrency.limit).toBeLessThanOrEqual(4096);
  for (let at = 0; at < 100; at++) concurrency.onTimeout(at * 1000);
  expect(concurrency.limit).toBe(4);
  // The limit is soft: the target is not full, however many requests are in flight.
  expect(concurrency.isFull(100_000)).toBe(false);
});
