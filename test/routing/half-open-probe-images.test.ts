/** Half-open probes of image targets: a free health check first, and no paid probe at a client's expense. */
import { describe, expect, test } from "bun:test";
import { HalfOpenProbe } from "../../server/routing/health/half-open-probe.ts";
import type { Target } from "../../server/upstream/contract.ts";
import { routeTo, targetNamed } from "../embeddings/stage-fixture.ts";
import { type Mood, World } from "../fuzz/scheduling-world.ts";

const [first, second] = [targetNamed("first"), { ...targetNamed("second"), tier: 1 }];
const broken: Mood = { kind: "fails", share: 1, ms: 20, fault: "upstream_error" };
const well: Mood = { kind: "well", ms: 20 };

interface Life {
  /** The first target, while it is out. */
  readonly mood: Mood;
  readonly backAt: number;
  readonly lasts: number;
  readonly perSecond: number;
  readonly isThere?: (target: Target, now: number) => boolean;
}

/** Pictures in a chain of two, of which the first fails from one second on. */
async function live({ mood, backAt, lasts, perSecond, isThere }: Life, seed = 1): Promise<World> {
  const world = new World({
    seed,
    operation: "generations",
    route: routeTo(first, second),
    moodOf: (target, now) => (target === first && now >= 1000 && now < backAt ? mood : well),
    ...(isThere && { isThere }),
  });
  world.steady(0, lasts, perSecond);
  await world.time.run();
  return world;
}

const failedAfter = ({ outcomes }: World, from: number): number =>
  outcomes.filter(({ began, fault }) => began >= from && fault !== undefined).length;
const visitsOfFirst = ({ visits }: World, from: number, to: number): number =>
  visits.filter(({ at, target }) => target === first && at >= from && at < to).length;

describe("a target that draws, and fails while another serves", () => {
  test("is not tried with anybody's picture while a free question is not answered there", async () => {
    const life = { mood: broken, backAt: 60_000, lasts: 60_000, perSecond: 5 };
    const world = await live({ ...life, isThere: () => false });
    expect(visitsOfFirst(world, 0, 5000)).toBeGreaterThanOrEqual(5);
    expect(visitsOfFirst(world, 5000, 60_000)).toBe(0);
    expect(failedAfter(world, 5000)).toBe(0);
    // Less and less often.
    expect(world.looks).toBeGreaterThanOrEqual(4);
    expect(world.looks).toBeLessThanOrEqual(8);
  });

  test("that answers free questions and still cannot draw costs at most one call in twenty", async () => {
    for (const perSecond of [0.1, 1, 20]) {
      const lasts = 3_600_000 / Math.max(1, 10 * perSecond);
      const world = await live({ mood: broken, backAt: lasts, lasts, perSecond });
      const late = world.outcomes.filter(({ began }) => began > lasts / 4).length;
      expect(late).toBeGreaterThan(100);
      expect(failedAfter(world, lasts / 4) / late).toBeLessThanOrEqual(0.06);
    }
  });

  test("is used again soon after it is back, and it takes one call to see", async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const life = { mood: { kind: "gone" } as const, backAt: 9000, lasts: 40_000, perSecond: 5 };
      const world = await live(life, seed);
      expect(failedAfter(world, 0)).toBe(0);
      const back = world.news.find(({ what }) => what === "recovered")!.at;
      expect(back - 9000).toBeLessThan(20_000);
      expect(visitsOfFirst(world, back + 10_000, 40_000)).toBeGreaterThan(20);
    }
  });

  test("is tried with a picture where nobody else serves, for then there is nothing to lose", async () => {
    const world = new World({
      seed: 3,
      operation: "generations",
      route: routeTo(first, second),
      moodOf: (_, now) => (now >= 1000 && now < 6000 ? broken : well),
      isThere: () => false,
    });
    world.steady(0, 20_000, 10);
    await world.time.run();
    const again = world.outcomes.find(({ began, fault }) => began >= 6000 && !fault)!;
    expect(again.began - 6000).toBeLessThan(5000);
  });
});

test("without a free question that works, a picture tries after five minutes all the same", () => {
  const trial = new HalfOpenProbe(0);
  for (let order = 0; order < 100; order++) if (trial.skip()) trial.onChecked(false);
  expect(trial.mayProbe(299_999)).toBe(false);
  expect(trial.mayProbe(300_000)).toBe(true);
  trial.failed(300_000);
  expect(trial.mayProbe(600_000)).toBe(false);
  for (let order = 0; order < 19; order++) trial.skip();
  expect(trial.mayProbe(599_999)).toBe(false);
  expect(trial.mayProbe(600_000)).toBe(true);
});
