/** Half-open probes of image targets: a free health check first, and no paid probe at a client's expense. */
import { describe, expect, test } from "bun:test";
import type { Target } from "../../server/upstream/contract.ts";
import { modelWithTargets, targetNamed } from "../embeddings/stage-fixture.ts";
import { RoutingSimulation, type TargetBehavior } from "../fuzz/routing-simulation.ts";

const [first, second] = [targetNamed("first"), { ...targetNamed("second"), tier: 1 }];
const broken: TargetBehavior = { kind: "fails", share: 1, ms: 20, errorKind: "upstream_error" };
const well: TargetBehavior = { kind: "well", ms: 20 };

interface Scenario {
  /** The behavior of the first target during its outage. */
  readonly behavior: TargetBehavior;
  readonly backAt: number;
  readonly lasts: number;
  readonly perSecond: number;
  readonly isUp?: (target: Target, now: number) => boolean;
}

/** Image requests to two targets in order; the first fails from one second on. */
async function simulate(
  { behavior, backAt, lasts, perSecond, isUp }: Scenario,
  seed = 1,
): Promise<RoutingSimulation> {
  const simulation = new RoutingSimulation({
    seed,
    operation: "generations",
    model: modelWithTargets(first, second),
    behaviorOf: (target, now) =>
      target === first && now >= 1000 && now < backAt ? behavior : well,
    ...(isUp && { isUp }),
  });
  simulation.steady(0, lasts, perSecond);
  await simulation.time.run();
  return simulation;
}

const failedAfter = ({ outcomes }: RoutingSimulation, from: number): number =>
  outcomes.filter(({ startedAt, errorKind }) => startedAt >= from && errorKind !== undefined)
    .length;
const visitsOfFirst = ({ attempts }: RoutingSimulation, from: number, to: number): number =>
  attempts.filter(({ at, target }) => target === first && at >= from && at < to).length;

describe("an image target that fails while another serves", () => {
  test("is not probed by a client's request while the free health check fails", async () => {
    const scenario = { behavior: broken, backAt: 60_000, lasts: 60_000, perSecond: 5 };
    const simulation = await simulate({ ...scenario, isUp: () => false });
    expect(visitsOfFirst(simulation, 0, 5000)).toBeGreaterThanOrEqual(5);
    expect(visitsOfFirst(simulation, 5000, 60_000)).toBe(0);
    expect(failedAfter(simulation, 5000)).toBe(0);
    // With exponential backoff.
    expect(simulation.healthChecks).toBeGreaterThanOrEqual(4);
    expect(simulation.healthChecks).toBeLessThanOrEqual(8);
  });

  test("that passes the health check and still fails costs at most one request in twenty", async () => {
    for (const perSecond of [0.1, 1, 20]) {
      const lasts = 3_600_000 / Math.max(1, 10 * perSecond);
      const simulation = await simulate({ behavior: broken, backAt: lasts, lasts, perSecond });
      const late = simulation.outcomes.filter(({ startedAt }) => startedAt > lasts / 4).length;
      expect(late).toBeGreaterThan(100);
      expect(failedAfter(simulation, lasts / 4) / late).toBeLessThanOrEqual(0.06);
    }
  });

  test("is used again soon after it recovers, after one probe", async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const scenario = {
        behavior: { kind: "gone" } as const,
        backAt: 9000,
        lasts: 40_000,
        perSecond: 5,
      };
      const simulation = await simulate(scenario, seed);
      expect(failedAfter(simulation, 0)).toBe(0);
      const back = simulation.changes.find(({ transition }) => transition === "recovered")!.at;
      expect(back - 9000).toBeLessThan(20_000);
      expect(visitsOfFirst(simulation, back + 10_000, 40_000)).toBeGreaterThan(20);
    }
  });

  test("is probed by a client's request when no other target serves", async () => {
    const simulation = new RoutingSimulation({
      seed: 3,
      operation: "generations",
      model: modelWithTargets(first, second),
      behaviorOf: (_, now) => (now >= 1000 && now < 6000 ? broken : well),
      isUp: () => false,
    });
    simulation.steady(0, 20_000, 10);
    await simulation.time.run();
    const again = simulation.outcomes.find(
      ({ startedAt, errorKind }) => startedAt >= 6000 && !errorKind,
    )!;
    expect(again.startedAt - 6000).toBeLessThan(5000);
  });
});

test("an image target whose health check never passes is used again some minutes after it recovers", async () => {
  const scenario = { behavior: broken, backAt: 60_000, lasts: 1_800_000, perSecond: 0.5 };
  const simulation = await simulate({ ...scenario, isUp: () => false });
  const recovered = simulation.changes.find(({ transition }) => transition === "recovered");
  expect(recovered?.at).toBeWithin(60_000, 900_000);
});
