/** Targets that do not respond get fewer and fewer requests; targets that are only slow recover. */
import { describe, expect, test } from "bun:test";
import { routeTo, targetNamed } from "../embeddings/stage-fixture.ts";
import { type Mood, World } from "../fuzz/scheduling-world.ts";

const [good, bad] = [targetNamed("good"), targetNamed("bad")];
const well: Mood = { kind: "well", ms: 10 };

async function live(seed: number, lasts: number, moodOfBad: (now: number) => Mood) {
  const world = new World({
    seed,
    route: routeTo(good, bad),
    moodOf: (target, now) => (target === bad ? moodOfBad(now) : well),
  });
  world.steady(0, lasts, 30);
  await world.time.run();
  const visits = (from: number): number =>
    world.visits.filter(({ at, target }) => target === bad && at >= from).length;
  return { world, visits };
}

describe("a target that hangs, while a second question saves its callers", () => {
  test("is tried less and less often, and nobody waits for it", async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const { world, visits } = await live(seed, 120_000, (now) =>
        now < 3000 ? well : { kind: "hangs" },
      );
      const out = world.news.find(({ what }) => what === "ejected")!.at;
      expect(out).toBeLessThan(30_000);
      // 1, 2, 4, 8, 16 and then 30 seconds apart, give or take a fifth.
      expect(visits(out + 1), `seed ${seed}`).toBeLessThanOrEqual(10);
      expect(visits(out + 1), `seed ${seed}`).toBeGreaterThanOrEqual(5);
      for (const { fault } of world.outcomes) expect(fault).toBe(undefined);
      const late = world.outcomes.filter(({ began }) => began > out);
      expect(Math.max(...late.map(({ began, ended }) => ended - began))).toBeLessThan(2000);
    }
  });

  test("comes back although it has become slower than another's answer to a second question", async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const { world, visits } = await live(seed, 40_000, (now) => {
        if (now < 3000) return well;
        return now < 12_000 ? { kind: "hangs" } : { kind: "well", ms: 200 };
      });
      expect(
        world.news.map(({ what }) => what),
        `seed ${seed}`,
      ).toContain("recovered");
      expect(visits(30_000)).toBeGreaterThan(0);
      for (const { inFlight } of world.roster.usedTargets()) expect(inFlight).toBe(0);
      for (const { call } of world.outcomes) expect(call.signal.listeners.size).toBe(0);
    }
  });
});

describe("the only target of a model, when it hangs", () => {
  test("keeps few callers waiting: the others are told at once, and served within five seconds of its return", async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const world = new World({
        seed,
        route: routeTo(good),
        moodOf: (_, now) => (now >= 1000 && now < 20_000 ? { kind: "hangs" } : well),
        deadlineMs: 3000,
      });
      world.steady(0, 30_000, 20);
      await world.time.run();
      const during = world.outcomes.filter(({ began }) => began >= 5000 && began < 20_000);
      const told = during.filter(({ fault }) => fault === "no_healthy_target");
      expect(told.length / during.length).toBeGreaterThan(0.9);
      for (const { began, ended, retryAfterMs } of told) {
        expect(ended - began).toBeLessThan(1);
        expect(retryAfterMs).toBeWithin(1, 2001);
      }
      const back = world.outcomes.find(({ began, fault }) => began >= 20_000 && !fault)!;
      expect(back.ended - 20_000).toBeLessThan(5000);
    }
  });
});
