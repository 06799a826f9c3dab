/** Circuit breaker: when a target is ejected, for how long, and how it recovers. */
import { describe, expect, test } from "bun:test";
import { AdaptiveConcurrency } from "../../server/routing/health/adaptive-concurrency.ts";
import type { TargetChange } from "../../server/routing/health/target-health.ts";
import { candidateNamed, eject, end, fail, rateLimit, succeed } from "./routing-fixture.ts";

describe("a target that fails", () => {
  test("is ejected after five consecutive failures, and one success between them resets the count", () => {
    const changes: TargetChange[] = [];
    const candidate = candidateNamed("a", { changes });
    for (let round = 0; round < 10; round++) {
      for (let request = 0; request < 4; request++) fail(candidate, round);
      succeed(candidate, round, 0);
    }
    expect(candidate.health.state(10)).toBe("healthy");
    eject(candidate, 10);
    expect(candidate.health.state(10)).toBe("ejected");
    expect(changes).toEqual([
      {
        transition: "ejected",
        target: candidate.target,
        reason: "5 failures in a row, the last: upstream_error",
      },
    ]);
  });

  test("always is ejected, also if it failed only now and then before", () => {
    const candidate = candidateNamed("a");
    for (let at = 0; at < 40; at++) {
      if (at % 3 === 0) fail(candidate, at);
      else succeed(candidate, at, 0);
    }
    for (let request = 0; request < 30; request++) fail(candidate, 100);
    expect(candidate.health.state(100)).toBe("ejected");
  });

  test("is probed by one request after a second, and by the next only when that one has ended", () => {
    const changes: TargetChange[] = [];
    const candidate = candidateNamed("a", { changes });
    const { health } = candidate;
    eject(candidate, 0);
    expect(health.state(999)).toBe("ejected");
    expect(health.state(1000)).toBe("half_open");
    expect(health.start(1000)).toBe(true);
    expect(health.state(1010)).toBe("half_open");
    expect(health.breaker.isProbeDue(1010)).toBe(false);
    health.recordSuccess(1020, 1000, 20, 0);
    expect(health.state(1020)).toBe("healthy");
    expect(changes.map(({ transition }) => transition)).toEqual(["ejected", "recovered"]);
  });

  test("is probed again by another request when the first probe gets no response", () => {
    const { health } = candidateNamed("a");
    eject({ ...candidateNamed("a"), health }, 0);
    health.start(1000);
    expect(health.breaker.isProbeDue(2999)).toBe(false);
    expect(health.breaker.isProbeDue(3000)).toBe(true);
  });

  test("is ejected twice as long after each probe without a response, however that probe ends", () => {
    for (const ends of [true, false]) {
      const { health } = candidateNamed("a");
      eject({ ...candidateNamed("a"), health }, 0);
      const waits: number[] = [];
      let now = 1000;
      for (let turn = 0; turn < 6; turn++) {
        const startedAt = now;
        health.start(startedAt);
        now += 2000;
        if (ends) health.recordEnd(now, startedAt, { kind: "neutral" }, () => false);
        while (!health.breaker.isProbeDue(now)) now += 100;
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
      const wait = candidate.health.breaker.probeWaitMs(now, false);
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
    health.start(0);
    eject({ ...candidateNamed("a"), health }, 10);
    health.recordSuccess(20, 0, 20, 0);
    expect(health.state(20)).toBe("ejected");
  });

  test("and is ejected again while an old probe hangs is not half-open until the next probe", () => {
    const candidate = candidateNamed("a");
    const { health } = candidate;
    const old = Array.from({ length: 5 }, () => health.start(0));
    eject(candidate, 10);
    health.start(1010);
    health.start(3010);
    health.recordSuccess(3011, 1010, 2001, 0);
    const failure = { kind: "failure", errorKind: "upstream_error" } as const;
    for (const _ of old) health.recordEnd(3020, 0, failure, () => false);
    health.recordEnd(3030, 3010, { kind: "neutral" }, () => false);
    expect(health.state(3040)).toBe("ejected");
    expect(health.state(4020)).toBe("half_open");
  });

  test("is not judged by requests that clients canceled", () => {
    const candidate = candidateNamed("a");
    for (let request = 0; request < 100; request++) end(candidate, 0, { kind: "neutral" });
    expect(candidate.health.state(0)).toBe("healthy");
    expect(candidate.health.inFlight).toBe(0);
  });

  test("is probed after a long time without requests", () => {
    for (const laterMs of [5000, 1e9]) {
      const candidate = candidateNamed("a");
      eject(candidate, 1e9);
      expect(candidate.health.state(1e9 + laterMs)).toBe("half_open");
    }
  });
});

describe("the only target of a model", () => {
  test("is used although a few of its requests failed: a client with little traffic is not locked out", () => {
    const candidate = candidateNamed("a");
    for (let request = 0; request < 4; request++) fail(candidate, request * 60_000);
    expect(candidate.health.state(180_001)).toBe("healthy");
  });

  test.each(["upstream_timeout", "upstream_invalid"] as const)(
    "is used although requests end with %s: the next input may succeed",
    (errorKind) => {
      const outcome = { kind: "failure", errorKind } as const;
      const [last, other] = [candidateNamed("last"), candidateNamed("other")];
      for (let request = 0; request < 20; request++) {
        end(last, request, outcome, true);
        end(other, request, outcome);
      }
      expect(last.health.state(20)).toBe("healthy");
      // While another target is healthy, the same failures count.
      expect(other.health.state(20)).toBe("ejected");
    },
  );

  test("is used while it serves a part of its requests, however many fail in a row", () => {
    const [last, other] = [candidateNamed("last"), candidateNamed("other")];
    for (let now = 0; now < 10_000; now += 50) {
      if (now % 400 === 0) succeed(last, now, 0);
      else fail(last, now, true);
    }
    expect(last.health.state(10_000)).toBe("healthy");
    // It has served no request for half a second.
    for (let request = 0; request < 5; request++) fail(last, 11_000, true);
    expect(last.health.state(11_000)).toBe("ejected");
    // While another target is healthy, five failures in a row are enough.
    succeed(other, 0, 0);
    for (let request = 0; request < 5; request++) fail(other, 1);
    expect(other.health.state(1)).toBe("ejected");
  });

  test("that keeps failing is probed every second, however long that goes on", () => {
    const candidate = candidateNamed("a");
    eject(candidate, 0);
    for (let now = 0; now < 60_000; now += 1000) {
      expect(candidate.health.waitMs(now + 1)).toBe(999);
      expect(candidate.health.waitMs(now + 1000)).toBe(0);
      fail(candidate, now + 1000);
    }
    succeed(candidate, 61_000, 5);
    expect(candidate.health.state(61_005)).toBe("healthy");
  });
});

describe("a target at its rate limit", () => {
  test("cools down for its retry-after, and does not count as failing", () => {
    const changes: TargetChange[] = [];
    const candidate = candidateNamed("a", { changes });
    for (let request = 0; request < 20; request++) rateLimit(candidate, request, 7000);
    expect(candidate.health.state(7018)).toBe("cooling");
    expect(candidate.health.waitMs(7018)).toBe(1);
    expect(candidate.health.isRateLimited(7018)).toBe(true);
    expect(candidate.health.state(7020)).toBe("healthy");
    expect(changes).toEqual([]);
  });

  test("without retry-after is used only when no other target is available", () => {
    const candidate = candidateNamed("a");
    rateLimit(candidate, 0);
    expect(candidate.health.state(999)).toBe("cooling");
    expect(candidate.health.waitMs(999)).toBe(0);
    expect(candidate.health.state(1000)).toBe("healthy");
  });

  test("is used again after five minutes at the latest", () => {
    const candidate = candidateNamed("a");
    rateLimit(candidate, 1e6, 86_400_000);
    expect(candidate.health.waitMs(1e6)).toBe(300_000);
    expect(candidate.health.state(1e6 + 300_001)).toBe("healthy");
  });
});

describe("a target that does not take the gateway's key", () => {
  test("is used only when no other target is available, and is reported once", () => {
    const changes: TargetChange[] = [];
    const candidate = candidateNamed("a", { changes });
    const { health } = candidate;
    for (let request = 0; request < 3; request++)
      end(candidate, request, { kind: "refused", errorKind: "upstream_credentials" });
    expect(health.state(10)).toBe("cooling");
    expect(health.waitMs(10)).toBe(0);
    expect(changes.map(({ transition, reason }) => `${transition}: ${reason}`)).toEqual([
      "ejected: upstream_credentials",
    ]);
    succeed(candidate, 19, 1);
    expect(health.state(20)).toBe("healthy");
    expect(changes).toHaveLength(2);
  });
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
