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

type Plan = Pick<RoutingSimulationOptions, "seed" | "model" | "behaviorOf"> & {
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
  for (const { inFlight } of simulation.targets) expect(inFlight).toBe(0);
  for (const { request } of simulation.outcomes) expect(request.client.listeners.size).toBe(0);
}

describe("requests that wait for a hanging target are served within five seconds of the recovery of another", () => {
  test("when a new request was the probe of the recovered target", async () => {
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
      simulation.steady(5000, 12_000, 5);
      await simulation.time.run();
      expect(Math.max(...servedAfter(simulation, 5100)), `seed ${seed}`).toBeLessThan(5000);
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
});

describe("a request that is slow on a healthy target", () => {
  test("is sent once to a model's only target, which stays available for other requests", async () => {
    const simulation = simulationOf({
      seed: 1,
      model: modelWithTargets(a),
      behaviorOf: (_, now) => (now < 3000 ? well : { kind: "well", ms: 30_000 }),
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
      const attempts = simulation.attempts.filter(({ at, target }) => target === a && at >= 4000);
      expect(attempts).toHaveLength(1);
    }
  });
});

test("a target is not ejected because clients disconnect before it responds", async () => {
  const simulation = simulationOf({
    seed: 1,
    model: modelWithTargets(a),
    clientTimeoutMs: 300,
    behaviorOf: (_, now) => (now >= 3000 ? hangs : well),
  });
  simulation.loop(10, 0, 10_000);
  await simulation.time.run();
  const { counts, breaker } = simulation.targets[0]!;
  expect(counts.failed).toBe(0);
  expect(breaker.isOpen).toBe(false);
});
