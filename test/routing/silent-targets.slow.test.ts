/** Requests that wait for a silent target are served as soon as any target can, and do not make others wait. */
import { describe, expect, test } from "bun:test";
import { modelWithTargets, targetNamed } from "../embeddings/stage-fixture.ts";
import {
  RoutingSimulation,
  type RoutingSimulationOptions,
  type TargetBehavior,
} from "../fuzz/routing-simulation.ts";

const [a, b] = [targetNamed("a"), targetNamed("b")];
const well: TargetBehavior = { kind: "well", ms: 10 };
const hangs: TargetBehavior = { kind: "hangs" };
const fails: TargetBehavior = { kind: "fails", share: 1, ms: 5, errorKind: "upstream_error" };

type Plan = Pick<RoutingSimulationOptions, "seed" | "model" | "behaviorOf" | "areBuiltIn"> & {
  readonly clientTimeoutMs?: number;
};

const simulationOf = (plan: Plan): RoutingSimulation =>
  new RoutingSimulation({ ...plan, deadlineMs: 120_000 });

const seeds = Array.from({ length: 3 }, (_, at) => at + 1);

/** For the requests in flight at that time and later ones: how long after it each was served. None may fail. */
function servedAfter({ outcomes }: RoutingSimulation, moment: number): number[] {
  return outcomes
    .filter(({ endedAt }) => endedAt >= moment)
    .map(({ startedAt, endedAt, errorKind }) => {
      expect(errorKind).toBe(undefined);
      return endedAt - Math.max(startedAt, moment);
    });
}

function expectNothingLeft(simulation: RoutingSimulation): void {
  expect(simulation.outcomes).toHaveLength(simulation.requestCount);
  for (const { inFlight } of simulation.registry.usedTargets()) expect(inFlight).toBe(0);
  for (const { request } of simulation.outcomes) expect(request.signal.listeners.size).toBe(0);
}

describe("waiting requests, without any new request, are served within five seconds of a recovery", () => {
  test("when the ejected target recovers and the other one hangs", async () => {
    for (const seed of seeds) {
      const simulation = simulationOf({
        seed,
        model: modelWithTargets(a, b),
        behaviorOf: (target, now) => {
          if (target === a) return now < 5000 ? well : hangs;
          return now >= 4000 && now < 5000 ? fails : well;
        },
      });
      simulation.loop(10, 0, 12_000);
      await simulation.time.run();
      expect(Math.max(...servedAfter(simulation, 5100)), `seed ${seed}`).toBeLessThan(5000);
      expectNothingLeft(simulation);
    }
  });

  test("when both targets hung", async () => {
    for (const seed of seeds) {
      const simulation = simulationOf({
        seed,
        model: modelWithTargets(a, b),
        behaviorOf: (_, now) => (now >= 2500 && now < 8500 ? hangs : well),
      });
      simulation.loop(10, 0, 2600);
      await simulation.time.run();
      const after = servedAfter(simulation, 8500);
      expect(after).toHaveLength(10);
      expect(Math.max(...after), `seed ${seed}`).toBeLessThan(5000);
      expectNothingLeft(simulation);
    }
  });

  test("when both targets failed, were idle for a while, and one hangs afterwards", async () => {
    for (const seed of seeds) {
      const simulation = simulationOf({
        seed,
        model: modelWithTargets(a, b),
        behaviorOf: (target, now) => {
          if (now >= 1500 && now < 4500) return fails;
          return target === a && now >= 16_000 ? hangs : well;
        },
      });
      simulation.loop(10, 0, 7000);
      simulation.loop(10, 16_000, 20_000);
      await simulation.time.run();
      expect(Math.max(...servedAfter(simulation, 16_000)), `seed ${seed}`).toBeLessThan(5000);
      expectNothingLeft(simulation);
    }
  });

  test("when the model has one target and at most a hundred requests a second", async () => {
    for (const seed of seeds) {
      const simulation = simulationOf({
        seed,
        model: modelWithTargets(a),
        behaviorOf: (_, now) => (now >= 5000 && now < 11_000 ? hangs : well),
      });
      simulation.loop(2, 0, 5100);
      await simulation.time.run();
      const after = servedAfter(simulation, 11_000);
      expect(after).toHaveLength(2);
      expect(Math.max(...after), `seed ${seed}`).toBeLessThan(5000);
      expectNothingLeft(simulation);
    }
  });

  test("or fail immediately if the recovered target rejects the request", async () => {
    const simulation = simulationOf({
      seed: 1,
      model: modelWithTargets(a, b),
      behaviorOf: (_, now) => {
        if (now < 2500) return well;
        if (now < 8500) return hangs;
        return { kind: "fails", share: 1, ms: 5, errorKind: "upstream_rejected" };
      },
    });
    simulation.loop(10, 0, 2600);
    await simulation.time.run();
    const late = simulation.outcomes.filter(({ endedAt }) => endedAt >= 8500);
    expect(late).toHaveLength(10);
    for (const { endedAt, errorKind } of late) {
      expect(errorKind).toBe("upstream_rejected");
      expect(endedAt - 8500).toBeLessThan(5000);
    }
  });
});

describe("a request that is slow on a healthy target", () => {
  test("is sent once to a built-in model, which stays available for other requests", async () => {
    const simulation = simulationOf({
      seed: 1,
      model: modelWithTargets(a),
      behaviorOf: (_, now) => (now < 3000 ? well : { kind: "well", ms: 30_000 }),
      areBuiltIn: true,
    });
    simulation.steady(0, 3000, 30);
    simulation.time.start(4000, () => simulation.sendRequest());
    simulation.time.start(20_000, () => simulation.sendRequest());
    await simulation.time.run();
    expect(simulation.attempts.filter(({ at }) => at >= 4000)).toHaveLength(2);
    for (const { errorKind } of simulation.outcomes.slice(-2)) expect(errorKind).toBe(undefined);
    expectNothingLeft(simulation);
  });

  test("is served: its first attempt is never canceled", async () => {
    for (const targets of [[a], [a, b]]) {
      const simulation = simulationOf({
        seed: 1,
        model: modelWithTargets(...targets),
        behaviorOf: (target, now) => {
          if (target === b && now >= 2000) return { kind: "gone" };
          return now < 3000 ? well : { kind: "well", ms: 30_000 };
        },
      });
      simulation.steady(0, 3000, 30);
      simulation.time.start(4000, () => simulation.sendRequest());
      await simulation.time.run();
      const { startedAt, endedAt, errorKind } = simulation.outcomes.at(-1)!;
      expect(startedAt).toBe(4000);
      expect(errorKind).toBe(undefined);
      expect(endedAt - startedAt).toBeWithin(15_000, 45_001);
      // One more attempt every two seconds at most.
      const attempts = simulation.attempts.filter(
        ({ at, target }) => target === a && at >= 4000,
      ).length;
      expect(attempts).toBeLessThanOrEqual(1 + (endedAt - startedAt) / 2000);
    }
  });
});

describe("a target whose clients disconnect because it does not respond", () => {
  const plan = (clientTimeoutMs: number, hangsFrom: number, ...targets: (typeof a)[]) => ({
    model: modelWithTargets(...targets),
    clientTimeoutMs: clientTimeoutMs,
    behaviorOf: (_: unknown, now: number) => (now >= hangsFrom ? hangs : well),
  });

  test.each<[string, number, (typeof a)[]]>([
    ["the only target", 3000, [a]],
    ["a target that never responded", 0, [a]],
    ["both of two targets", 3000, [a, b]],
  ])("is ejected soon, and clients get an error immediately: %s", async (_, hangsFrom, targets) => {
    for (const seed of seeds) {
      const simulation = simulationOf({ seed, ...plan(3000, hangsFrom, ...targets) });
      simulation.loop(10, 0, hangsFrom + 20_000);
      await simulation.time.run();
      for (const { breaker, counts } of simulation.registry.usedTargets()) {
        expect(breaker.open).toBe(true);
        expect(counts.failed).toBeGreaterThanOrEqual(5);
      }
      const late = simulation.outcomes.filter(({ startedAt }) => startedAt >= hangsFrom + 7000);
      const refused = late.filter(({ errorKind }) => errorKind === "no_healthy_target");
      expect(refused.length / late.length, `seed ${seed}`).toBeGreaterThan(0.9);
      for (const { startedAt, endedAt } of refused) expect(endedAt - startedAt).toBeLessThan(1);
      // One probe at a time, with a timeout of two seconds.
      const tries = simulation.attempts.filter(({ at }) => at >= hangsFrom + 8000).length;
      expect(tries / targets.length, `seed ${seed}`).toBeLessThanOrEqual(13);
      expectNothingLeft(simulation);
    }
  });

  test("is not ejected if they disconnect before it is slow", async () => {
    const simulation = simulationOf({ seed: 1, ...plan(300, 3000, a) });
    simulation.loop(10, 0, 10_000);
    await simulation.time.run();
    const { counts, breaker } = simulation.registry.usedTargets()[0]!;
    expect(counts.failed).toBe(0);
    expect(breaker.open).toBe(false);
  });

  test("is ejected also if no client disconnects, and waiting requests are served when it recovers", async () => {
    for (const seed of seeds) {
      const simulation = simulationOf({
        seed,
        model: modelWithTargets(a),
        behaviorOf: (_, now) => (now >= 4000 && now < 20_000 ? hangs : well),
      });
      simulation.steady(0, 30_000, 40);
      await simulation.time.run();
      const during = simulation.outcomes.filter(
        ({ startedAt }) => startedAt >= 14_000 && startedAt < 20_000,
      );
      const refused = during.filter(({ errorKind }) => errorKind === "no_healthy_target");
      expect(refused.length / during.length, `seed ${seed}`).toBeGreaterThan(0.9);
      const waiting = simulation.outcomes.filter(
        ({ startedAt, errorKind }) => startedAt >= 9000 && !errorKind,
      );
      for (const { startedAt, endedAt } of waiting) {
        expect(endedAt - Math.max(startedAt, 20_000), `seed ${seed}`).toBeLessThan(5000);
      }
      const back = simulation.outcomes.find(
        ({ startedAt, errorKind }) => startedAt >= 20_000 && !errorKind,
      )!;
      expect(back.endedAt - 20_000).toBeLessThan(5000);
    }
  });
});
