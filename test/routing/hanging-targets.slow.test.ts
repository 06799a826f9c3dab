/** Targets that do not respond get fewer and fewer requests; targets that are only slow recover. */
import { describe, expect, test } from "bun:test";
import { scaled } from "../depth.ts";
import { modelWithTargets, targetNamed } from "../embeddings/stage-fixture.ts";
import { RoutingSimulation, type TargetBehavior } from "../fuzz/routing-simulation.ts";

const [good, bad] = [targetNamed("good"), targetNamed("bad")];
const well: TargetBehavior = { kind: "well", ms: 10 };
const seeds = scaled(20);

async function simulate(
  seed: number,
  lasts: number,
  behaviorOfBad: (now: number) => TargetBehavior,
) {
  const simulation = new RoutingSimulation({
    seed,
    model: modelWithTargets(good, bad),
    behaviorOf: (target, now) => (target === bad ? behaviorOfBad(now) : well),
  });
  simulation.steady(0, lasts, 30);
  await simulation.time.run();
  const attempts = (from: number): number =>
    simulation.attempts.filter(({ at, target }) => target === bad && at >= from).length;
  return { simulation, attempts };
}

describe("a hanging target, while hedges serve its requests", () => {
  test("is probed with exponential backoff, and no request waits for it", async () => {
    for (let seed = 1; seed <= seeds; seed++) {
      const { simulation, attempts } = await simulate(seed, 120_000, (now) =>
        now < 3000 ? well : { kind: "hangs" },
      );
      const out = simulation.changes.find(({ transition }) => transition === "ejected")!.at;
      expect(out).toBeLessThan(30_000);
      // The probes are 1, 2, 4, 8, 16 and then 30 seconds apart, with 20 % jitter.
      expect(attempts(out + 1), `seed ${seed}`).toBeLessThanOrEqual(10);
      expect(attempts(out + 1), `seed ${seed}`).toBeGreaterThanOrEqual(5);
      for (const { errorKind } of simulation.outcomes) expect(errorKind).toBe(undefined);
      const late = simulation.outcomes.filter(({ startedAt }) => startedAt > out);
      expect(Math.max(...late.map(({ startedAt, endedAt }) => endedAt - startedAt))).toBeLessThan(
        2000,
      );
    }
  });

  test("recovers although it is now slower than the hedge to another target", async () => {
    for (let seed = 1; seed <= seeds; seed++) {
      const { simulation, attempts } = await simulate(seed, 40_000, (now) => {
        if (now < 3000) return well;
        return now < 12_000 ? { kind: "hangs" } : { kind: "well", ms: 200 };
      });
      expect(
        simulation.changes.map(({ transition }) => transition),
        `seed ${seed}`,
      ).toContain("recovered");
      expect(attempts(30_000)).toBeGreaterThan(0);
      for (const { inFlight } of simulation.targets) expect(inFlight).toBe(0);
      for (const { request } of simulation.outcomes) expect(request.client.listeners.size).toBe(0);
    }
  });
});

test("the only target of a model is used although it hangs, and serves as soon as it recovers", async () => {
  for (let seed = 1; seed <= seeds; seed++) {
    const simulation = new RoutingSimulation({
      seed,
      model: modelWithTargets(good),
      behaviorOf: (_, now) => (now >= 1000 && now < 20_000 ? { kind: "hangs" } : well),
      deadlineMs: 3000,
    });
    simulation.steady(0, 30_000, 20);
    await simulation.time.run();
    expect(simulation.changes).toEqual([]);
    for (const { startedAt, errorKind } of simulation.outcomes)
      if (startedAt >= 20_000) expect(errorKind).toBe(undefined);
  }
});
