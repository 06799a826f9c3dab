/** Whatever targets do, in whatever order: callers hardly notice, nobody is asked too much, and what is well again is used again. */
import { beforeAll, describe, expect, test } from "bun:test";
import type { PolicyName } from "../../server/config/snapshot.ts";
import type { Target } from "../../server/upstream/contract.ts";
import { routeTo, targetNamed } from "../embeddings/stage-fixture.ts";
import { type Mood, randomFrom, World } from "./scheduling-world.ts";

const depth = Number(process.env.LAW_DEPTH ?? 1);
const seeds = (count: number, first = 1): number[] =>
  Array.from({ length: count * depth }, (_, at) => first + at);

const policies: readonly PolicyName[] = ["p2c", "weighted", "cost", "sticky"];
const well = (ms = 10): Mood => ({ kind: "well", ms });

const down: readonly Mood[] = [
  { kind: "fails", share: 1, ms: 5, fault: "upstream_error" },
  { kind: "fails", share: 1, ms: 2, fault: "upstream_overloaded" },
  { kind: "gone" },
  { kind: "hangs" },
];

/** Something bad, for one target. */
function trouble(random: () => number): Mood {
  const kinds: Mood[] = [
    { kind: "fails", share: 1, ms: 5, fault: "upstream_error" },
    { kind: "fails", share: 0.3, ms: 10, fault: "upstream_error" },
    { kind: "fails", share: 1, ms: 20, fault: "upstream_invalid" },
    { kind: "fails", share: 1, ms: 2, fault: "upstream_unreachable" },
    { kind: "fails", share: 1, ms: 3, fault: "upstream_credentials" },
    { kind: "gone" },
    { kind: "hangs" },
    { kind: "limited", retryAfterMs: 2000 },
    { kind: "limited" },
    { kind: "well", ms: 3000 },
  ];
  return kinds[Math.floor(random() * kinds.length)]!;
}

/** The most second tries that the budget lets through in so long. */
const mostExtra = (calls: number, ms: number): number =>
  0.2 * calls + 50 * (Math.ceil(ms / 9000) + 1);

describe("with one target that serves, whatever the others do", () => {
  /** Moods of all but the first change at random moments; sometimes the clock jumps. */
  async function live(seed: number) {
    const random = randomFrom(seed * 7919);
    const count = 2 + Math.floor(random() * 3);
    const targets = Array.from(
      { length: count },
      (_, at): Target => ({
        ...targetNamed(`t${at}`),
        ...(random() < 0.3 && { weight: 1 + Math.floor(random() * 4) }),
        ...(random() < 0.2 && { tier: 1 }),
      }),
    );
    const route = { ...routeTo(...targets), policy: policies[seed % policies.length]! };
    const lasts = 8000;
    const moods = new Map<Target, { from: number; mood: Mood }[]>();
    for (const target of targets.slice(1)) {
      const list = [{ from: 0, mood: well() }];
      for (let at = random() * 3000; at < lasts; at += 500 + random() * 4000) {
        list.push({ from: at, mood: random() < 0.6 ? trouble(random) : well() });
      }
      moods.set(target, list);
    }
    const world = new World({
      seed,
      route,
      moodOf: (target, now) =>
        moods.get(target)?.findLast(({ from }) => from <= now)?.mood ?? well(),
    });
    world.steady(0, lasts, 5 + random() * 25);
    if (random() < 0.3) {
      const at = random() * lasts;
      for (let call = 0; call < 30; call++) world.time.start(at, () => world.call());
    }
    if (random() < 0.3) {
      world.time.start(random() * lasts, () => {
        world.time.skew += random() < 0.5 ? -random() * 20_000 : random() * 100_000;
      });
    }
    await world.time.run();
    return { world, lasts };
  }

  test("nearly every call is answered, each within its time, with few asked twice and nothing left over", async () => {
    let [calls, failed] = [0, 0];
    for (const seed of seeds(1000)) {
      const { world, lasts } = await live(seed);
      expect(world.outcomes.length, `seed ${seed}`).toBe(world.calls);
      const bad = world.outcomes.filter(({ fault }) => fault !== undefined);
      calls += world.calls;
      failed += bad.length;
      for (const { fault } of bad) expect(fault, `seed ${seed}`).not.toBe("defect");
      const extra = world.sent - world.calls;
      expect(extra, `seed ${seed}`).toBeLessThanOrEqual(mostExtra(world.calls, lasts));
      for (const { inFlight } of world.roster.usedTargets())
        expect(inFlight, `seed ${seed}`).toBe(0);
      for (const { call } of world.outcomes) expect(call.signal.listeners.size).toBe(0);
    }
    // Several that hang at once, a crowd of callers and a clock that jumps can use up what may be asked again.
    expect(failed / calls).toBeLessThan(0.0005);
  }, 60_000);

  test("of two that everybody knows, one may do what it likes: every call is answered, and soon quickly", async () => {
    for (const seed of seeds(300)) {
      const random = randomFrom(seed * 31_337);
      const targets = [targetNamed("good"), targetNamed("bad")];
      const way = trouble(random);
      const world = new World({
        seed,
        route: routeTo(...targets),
        moodOf: (target, now) => (target === targets[1] && now >= 3000 ? way : well()),
      });
      world.steady(0, 9000, 20 + random() * 30);
      await world.time.run();
      expect(
        world.outcomes.filter(({ fault }) => fault !== undefined),
        `seed ${seed}`,
      ).toEqual([]);
      const late = world.outcomes.filter(({ began }) => began >= 6000);
      const slow = late.filter(({ began, ended }) => ended - began > 40);
      expect(slow.length / late.length, `seed ${seed}`).toBeLessThan(0.05);
    }
  }, 60_000);
});

describe("when everything is down", () => {
  const [outFrom, backFrom, lasts] = [1500, 5000, 11_000];

  /** All targets fail in some way between two moments, and are well before and after. */
  async function live(
    seed: number,
    { operation, retryPaid }: { operation?: "generations"; retryPaid?: true } = {},
  ) {
    const random = randomFrom(seed * 104_729);
    const targets = Array.from({ length: 2 + (seed % 2) }, (_, at) => targetNamed(`t${at}`));
    const ways = new Map(
      targets.map((target) => [target, down[Math.floor(random() * down.length)]!]),
    );
    const world = new World({
      seed,
      ...(operation && { operation }),
      route: {
        ...routeTo(...targets),
        policy: policies[seed % policies.length]!,
        ...(retryPaid && { retryPaid }),
      },
      moodOf: (target, now) => (now >= outFrom && now < backFrom ? ways.get(target)! : well()),
      deadlineMs: 3000,
    });
    world.steady(0, lasts, 12);
    await world.time.run();
    return { world, targets, ways: [...ways.values()] };
  }

  interface Seen {
    readonly seed: number;
    readonly firstAnswerMs: number;
    readonly failedLate: number;
    readonly told: World["outcomes"];
    readonly visitsPerTarget: number;
    readonly hangs: boolean;
  }
  const seen: Seen[] = [];

  beforeAll(async () => {
    for (const seed of seeds(500)) {
      const { world, targets, ways } = await live(seed);
      const { outcomes, visits } = world;
      const first = outcomes.find(({ began, fault }) => began >= backFrom && !fault);
      seen.push({
        seed,
        firstAnswerMs: (first?.ended ?? Number.POSITIVE_INFINITY) - backFrom,
        failedLate: outcomes.filter(({ began, fault }) => began >= backFrom + 5000 && fault).length,
        told: outcomes.filter(({ fault }) => fault === "no_healthy_target"),
        visitsPerTarget:
          visits.filter(({ at }) => at >= outFrom + 1000 && at < backFrom).length / targets.length,
        hangs: ways.some(({ kind }) => kind === "hangs"),
      });
    }
  }, 60_000);

  test("the first call is answered within five seconds of the return, and soon all are", () => {
    const late = seen.filter(({ firstAnswerMs }) => firstAnswerMs >= 5000);
    expect(late.map(({ seed }) => seed)).toEqual([]);
    expect(seen.filter(({ failedLate }) => failedLate > 0).map(({ seed }) => seed)).toEqual([]);
  });

  test("callers are told so at once, with a time that is worth waiting for", () => {
    const told = seen.flatMap((each) => each.told);
    expect(told.length).toBeGreaterThan(seen.length);
    for (const { began, ended, retryAfterMs } of told) {
      expect(ended - began).toBeLessThan(1);
      expect(retryAfterMs).toBeGreaterThanOrEqual(1);
      expect(retryAfterMs).toBeLessThanOrEqual(2000);
    }
  });

  test("targets that fail are hardly asked, however many call", () => {
    // One probe each second, and here and there one that was under way already.
    const most = (backFrom - outFrom) / 1000 + 2;
    const pestered = seen.filter(({ hangs, visitsPerTarget }) => !hangs && visitsPerTarget > most);
    expect(pestered.map(({ seed }) => seed)).toEqual([]);
  });

  /** Orders after one that may have been paid for. */
  const doubled = ({ visits }: World): number => {
    const paid = new Set<unknown>();
    let count = 0;
    for (const { call, error } of visits) {
      if (paid.has(call.record)) count++;
      if (error?.definition.mayBeBilled && !error.details.notSent) paid.add(call.record);
    }
    return count;
  };

  test("a picture that may have been paid for is never ordered twice, unless the model says so", async () => {
    let allowed = 0;
    for (const seed of seeds(200)) {
      expect(doubled((await live(seed, { operation: "generations" })).world)).toBe(0);
      const { world } = await live(seed, { operation: "generations", retryPaid: true });
      allowed += doubled(world);
    }
    expect(allowed).toBeGreaterThan(0);
  }, 60_000);
});

describe("a target that comes back", () => {
  test("gets its full share again, but not all at once", async () => {
    let [soon, later] = [0, 0];
    for (const seed of seeds(60)) {
      const targets = [targetNamed("a"), targetNamed("b")];
      const world = new World({
        seed,
        route: routeTo(...targets),
        moodOf: (target, now) =>
          target === targets[1] && now < 3000 ? { kind: "gone" } : { kind: "well", ms: 2 },
      });
      world.steady(0, 30_000, 20);
      await world.time.run();
      const back = world.news.find(({ what }) => what === "recovered")!.at;
      const shareIn = (from: number, to: number) => {
        const all = world.visits.filter(({ at }) => at >= from && at < to);
        return all.filter(({ target }) => target === targets[1]).length / all.length;
      };
      soon += shareIn(back, back + 2000) / (60 * depth);
      later += shareIn(back + 11_000, 30_000) / (60 * depth);
    }
    expect(soon).toBeLessThan(0.25);
    expect(later).toBeGreaterThan(0.45);
    expect(later).toBeLessThan(0.55);
  }, 60_000);
});
