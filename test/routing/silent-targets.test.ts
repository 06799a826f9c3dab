/** Requests that wait for a silent target are served as soon as any target can, and do not make others wait. */
import { describe, expect, test } from "bun:test";
import { routeTo, targetNamed } from "../embeddings/stage-fixture.ts";
import { type Mood, World, type WorldOptions } from "../fuzz/scheduling-world.ts";

const [a, b] = [targetNamed("a"), targetNamed("b")];
const well: Mood = { kind: "well", ms: 10 };
const hangs: Mood = { kind: "hangs" };
const fails: Mood = { kind: "fails", share: 1, ms: 5, fault: "upstream_error" };

type Plan = Pick<WorldOptions, "seed" | "route" | "moodOf"> & { readonly leaveMs?: number };

const worldOf = (plan: Plan): World => new World({ ...plan, deadlineMs: 120_000 });

const seeds = Array.from({ length: 8 }, (_, at) => at + 1);

/** Of those that were there at that moment, or came later: how long after it each was served. Faults are none. */
function servedAfter({ outcomes }: World, moment: number): number[] {
  return outcomes
    .filter(({ ended }) => ended >= moment)
    .map(({ began, ended, fault }) => {
      expect(fault).toBe(undefined);
      return ended - Math.max(began, moment);
    });
}

function expectNothingLeft(world: World): void {
  expect(world.outcomes).toHaveLength(world.calls);
  for (const { inFlight } of world.roster.usedTargets()) expect(inFlight).toBe(0);
  for (const { call } of world.outcomes) expect(call.signal.listeners.size).toBe(0);
}

describe("callers who wait, and nobody new who would look, are served within five seconds of a return", () => {
  test("when the one that was out is back, and the other hangs", async () => {
    for (const seed of seeds) {
      const world = worldOf({
        seed,
        route: routeTo(a, b),
        moodOf: (target, now) => {
          if (target === a) return now < 5000 ? well : hangs;
          return now >= 4000 && now < 5000 ? fails : well;
        },
      });
      world.loop(10, 0, 12_000);
      await world.time.run();
      expect(Math.max(...servedAfter(world, 5100)), `seed ${seed}`).toBeLessThan(5000);
      expectNothingLeft(world);
    }
  });

  test("when both have hung", async () => {
    for (const seed of seeds) {
      const world = worldOf({
        seed,
        route: routeTo(a, b),
        moodOf: (_, now) => (now >= 2500 && now < 8500 ? hangs : well),
      });
      world.loop(10, 0, 2600);
      await world.time.run();
      const after = servedAfter(world, 8500);
      expect(after).toHaveLength(10);
      expect(Math.max(...after), `seed ${seed}`).toBeLessThan(5000);
      expectNothingLeft(world);
    }
  });

  test("when both had failed, were quiet for a while, and then one hangs", async () => {
    for (const seed of seeds) {
      const world = worldOf({
        seed,
        route: routeTo(a, b),
        moodOf: (target, now) => {
          if (now >= 1500 && now < 4500) return fails;
          return target === a && now >= 16_000 ? hangs : well;
        },
      });
      world.loop(10, 0, 7000);
      world.loop(10, 16_000, 20_000);
      await world.time.run();
      expect(Math.max(...servedAfter(world, 16_000)), `seed ${seed}`).toBeLessThan(5000);
      expectNothingLeft(world);
    }
  });

  test("when a model has but one, and no more than a hundred calls a second", async () => {
    for (const seed of seeds) {
      const world = worldOf({
        seed,
        route: routeTo(a),
        moodOf: (_, now) => (now >= 5000 && now < 11_000 ? hangs : well),
      });
      world.loop(2, 0, 5100);
      await world.time.run();
      const after = servedAfter(world, 11_000);
      expect(after).toHaveLength(2);
      expect(Math.max(...after), `seed ${seed}`).toBeLessThan(5000);
      expectNothingLeft(world);
    }
  });

  test("and told at once when the one that answers says that the question is wrong", async () => {
    const world = worldOf({
      seed: 1,
      route: routeTo(a, b),
      moodOf: (_, now) => {
        if (now < 2500) return well;
        if (now < 8500) return hangs;
        return { kind: "fails", share: 1, ms: 5, fault: "upstream_rejected" };
      },
    });
    world.loop(10, 0, 2600);
    await world.time.run();
    const late = world.outcomes.filter(({ ended }) => ended >= 8500);
    expect(late).toHaveLength(10);
    for (const { ended, fault } of late) {
      expect(fault).toBe("upstream_rejected");
      expect(ended - 8500).toBeLessThan(5000);
    }
  });
});

describe("a question that takes long, and not the target,", () => {
  test("is answered all the same: the first time it was asked is never given up", async () => {
    for (const targets of [[a], [a, b]]) {
      const world = worldOf({
        seed: 1,
        route: routeTo(...targets),
        moodOf: (target, now) => {
          if (target === b && now >= 2000) return { kind: "gone" };
          return now < 3000 ? well : { kind: "well", ms: 30_000 };
        },
      });
      world.steady(0, 3000, 30);
      world.time.start(4000, () => world.call());
      await world.time.run();
      const { began, ended, fault } = world.outcomes.at(-1)!;
      expect(began).toBe(4000);
      expect(fault).toBe(undefined);
      expect(ended - began).toBeWithin(15_000, 45_001);
      // Every two seconds once more, and no more than that.
      const asked = world.visits.filter(({ at, target }) => target === a && at >= 4000).length;
      expect(asked).toBeLessThanOrEqual(1 + (ended - began) / 2000);
    }
  });
});

describe("a target that callers leave because it says nothing", () => {
  const plan = (leaveMs: number, hangsFrom: number, ...targets: (typeof a)[]) => ({
    route: routeTo(...targets),
    leaveMs,
    moodOf: (_: unknown, now: number) => (now >= hangsFrom ? hangs : well),
  });

  test.each<[string, number, (typeof a)[]]>([
    ["the only one", 3000, [a]],
    ["one that never answered", 0, [a]],
    ["each of two", 3000, [a, b]],
  ])("is out soon, and callers are told at once: %s", async (_, hangsFrom, targets) => {
    for (const seed of seeds) {
      const world = worldOf({ seed, ...plan(3000, hangsFrom, ...targets) });
      world.loop(10, 0, hangsFrom + 20_000);
      await world.time.run();
      for (const { breaker, counts } of world.roster.usedTargets()) {
        expect(breaker.open).toBe(true);
        expect(counts.failed).toBeGreaterThanOrEqual(5);
      }
      const late = world.outcomes.filter(({ began }) => began >= hangsFrom + 7000);
      const told = late.filter(({ fault }) => fault === "no_healthy_target");
      expect(told.length / late.length, `seed ${seed}`).toBeGreaterThan(0.9);
      for (const { began, ended } of told) expect(ended - began).toBeLessThan(1);
      // One try at a time, each of which has two seconds.
      const tries = world.visits.filter(({ at }) => at >= hangsFrom + 8000).length;
      expect(tries / targets.length, `seed ${seed}`).toBeLessThanOrEqual(13);
      expectNothingLeft(world);
    }
  });

  test("is not, where they leave before it is slow", async () => {
    const world = worldOf({ seed: 1, ...plan(300, 3000, a) });
    world.loop(10, 0, 10_000);
    await world.time.run();
    const { counts, breaker } = world.roster.usedTargets()[0]!;
    expect(counts.failed).toBe(0);
    expect(breaker.open).toBe(false);
  });

  test("is out as well where nobody leaves, and those who came meanwhile are served when it is back", async () => {
    for (const seed of seeds) {
      const world = worldOf({
        seed,
        route: routeTo(a),
        moodOf: (_, now) => (now >= 4000 && now < 20_000 ? hangs : well),
      });
      world.steady(0, 30_000, 40);
      await world.time.run();
      const during = world.outcomes.filter(({ began }) => began >= 14_000 && began < 20_000);
      const told = during.filter(({ fault }) => fault === "no_healthy_target");
      expect(told.length / during.length, `seed ${seed}`).toBeGreaterThan(0.9);
      const waiting = world.outcomes.filter(({ began, fault }) => began >= 9000 && !fault);
      for (const { began, ended } of waiting) {
        expect(ended - Math.max(began, 20_000), `seed ${seed}`).toBeLessThan(5000);
      }
      const back = world.outcomes.find(({ began, fault }) => began >= 20_000 && !fault)!;
      expect(back.ended - 20_000).toBeLessThan(5000);
    }
  });
});
