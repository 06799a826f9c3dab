/** Adaptive concurrency limit: an overloaded target gets what it can serve, and the other requests queue. */
import { afterEach, describe, expect, test } from "bun:test";
import { AdaptiveConcurrency } from "../../server/routing/health/adaptive-concurrency.ts";
import type { Target } from "../../server/upstream/contract.ts";
import { routeTo, targetNamed } from "../embeddings/stage-fixture.ts";
import { type Mood, World, type WorldOptions } from "../fuzz/scheduling-world.ts";
import { startGateway, type TestGateway, testKey } from "../harness.ts";

const [a, b] = [targetNamed("a"), targetNamed("b")];
const overloaded: Mood = { kind: "fails", share: 1, ms: 2, fault: "upstream_overloaded" };
const limited: Mood = { kind: "limited" };
const well = (ms: number): Mood => ({ kind: "well", ms });
const seeds = [1, 2, 3, 4, 5];

interface Capacity {
  readonly places: number;
  readonly ms: number;
  /** What it says to those who are too many. */
  readonly says: Mood;
}

/** Targets that serve so many at a time. `meanwhile`: what they do instead, where they do something else. */
function worldOf(
  targets: readonly Target[],
  { places, ms, says }: Capacity,
  more: Partial<WorldOptions> = {},
  meanwhile: (now: number) => Mood | undefined = () => undefined,
): World {
  const world: World = new World({
    ...{ seed: 1, route: routeTo(...targets), ...more },
    moodOf: (target, now) => {
      const { inFlight } = world.roster.usedTargets().find((each) => each.target === target)!;
      return meanwhile(now) ?? (inFlight > places ? says : well(ms));
    },
  });
  return world;
}

const faultsOf = ({ outcomes }: World) =>
  outcomes.filter(({ fault }) => fault !== undefined).map(({ fault }) => fault);

function expectNothingLeft(world: World): void {
  expect(world.outcomes).toHaveLength(world.calls);
  for (const { inFlight, concurrency } of world.roster.usedTargets()) {
    expect([inFlight, concurrency.slots.waiting]).toEqual([0, 0]);
  }
  for (const { call } of world.outcomes) expect(call.signal.listeners.size).toBe(0);
}

describe("where more call than targets can serve at a time", () => {
  test.each([
    ["one", [a], 30],
    ["one, of many", [a], 200],
    ["two", [a, b], 60],
    ["two, of many", [a, b], 400],
  ])(
    "every call is served, at nearly the rate that they can do: %s",
    async (_, targets, callers) => {
      for (const seed of seeds) {
        const world = worldOf(targets, { places: 20, ms: 100, says: overloaded }, { seed });
        world.loop(callers, 0, 10_000);
        await world.time.run();
        expect(faultsOf(world), `seed ${seed}`).toEqual([]);
        expect(world.calls / targets.length, `seed ${seed}`).toBeGreaterThan(0.75 * 2000);
        // Hardly anything is sent in vain.
        expect(world.visits.length, `seed ${seed}`).toBeLessThan(1.2 * world.calls);
        expectNothingLeft(world);
      }
    },
    30_000,
  );

  test("so it is where they say that it is a rate limit, and not for how long", async () => {
    for (const seed of seeds) {
      const world = worldOf([a], { places: 20, ms: 100, says: limited }, { seed });
      world.loop(100, 0, 10_000);
      await world.time.run();
      const faults = faultsOf(world);
      // Those who were the first to hear of it.
      expect(faults.length, `seed ${seed}`).toBeLessThan(200);
      expect(world.calls - faults.length, `seed ${seed}`).toBeGreaterThan(0.75 * 2000);
      expectNothingLeft(world);
    }
  });

  test("those whose turn does not come in time are told so, and when to come back", async () => {
    const world = worldOf([a], { places: 4, ms: 1000, says: overloaded });
    world.loop(100, 0, 10_000);
    await world.time.run();
    const late = world.outcomes.filter(({ fault }) => fault === "queue_full");
    expect(late.length).toBeGreaterThan(10);
    for (const { began, ended, retryAfterMs, call } of late) {
      // Some of them had been asked between two waits, or three.
      expect(ended - began).toBeWithin(5000, 16_001);
      expect(retryAfterMs).toBeGreaterThanOrEqual(1000);
      expect(call.record.routing.attempts).toBeLessThanOrEqual(2);
    }
    expectNothingLeft(world);
  });
});

test("what waits before a target that hangs goes when it has not complained for three seconds, whether anybody new calls or not", async () => {
  let visits = 0;
  const world = new World({
    ...{ seed: 1, route: routeTo(a), deadlineMs: 60_000 },
    // Four that never come back, many that are too many for a moment, and all is well again.
    moodOf: (_, now) =>
      visits++ < 4 ? { kind: "hangs" } : now < 10 ? { ...overloaded, ms: 20 } : well(5),
  });
  for (let call = 0; call < 40; call++) world.time.start(0, () => world.call());
  await world.time.run();
  const served = world.outcomes.filter(({ fault }) => fault === undefined);
  expect(served.length).toBeGreaterThanOrEqual(36);
  for (const { ended } of served) expect(ended).toBeLessThan(4500);
  expectNothingLeft(world);
});

test("nobody waits before a target that says it is too much while one of a later tier has nothing to do", async () => {
  const route = routeTo({ ...a, tier: 0 }, { ...b, tier: 1 });
  const world: World = new World({
    ...{ seed: 1, route },
    moodOf: ({ upstream }) => {
      if (upstream.id === b.upstream.id) return well(10);
      const first = world.roster
        .usedTargets()
        .find(({ target }) => target.upstream.id === a.upstream.id)!;
      return first.inFlight > 4 ? overloaded : well(60_000);
    },
  });
  for (let call = 0; call < 60; call++) world.time.start(call * 10, () => world.call());
  await world.time.run();
  const elsewhere = world.visits.filter(({ target }) => target.upstream.id === b.upstream.id);
  expect(elsewhere.length).toBeGreaterThanOrEqual(50);
  for (const { at } of elsewhere) expect(at).toBeLessThan(2500);
});

test("a limit whose end is only guessed does not hide that a target is broken", async () => {
  const world = new World({
    ...{ seed: 1, route: routeTo(a) },
    moodOf: (_, now) =>
      now < 200 ? limited : { kind: "fails", share: 1, ms: 2, fault: "upstream_error" },
  });
  for (let call = 0; call < 8; call++) world.time.start(call * 10, () => world.call());
  for (let call = 0; call < 800; call++) world.time.start(300 + call * 10, () => world.call());
  await world.time.run();
  // It is tried now and then, and everyone else is told at once.
  expect(world.visits.length).toBeLessThan(100);
  const late = world.outcomes.filter(({ began }) => began > 1500);
  const told = late.filter(({ fault }) => fault === "no_healthy_target");
  expect(told.length / late.length).toBeGreaterThan(0.9);
});

describe("nobody waits", () => {
  test("before a target that has said nothing, however many come at once", async () => {
    const world = worldOf([a], { places: 1000, ms: 100, says: overloaded });
    for (let call = 0; call < 500; call++) world.time.start(0, () => world.call());
    await world.time.run();
    expect(faultsOf(world)).toEqual([]);
    for (const { at } of world.visits) expect(at).toBe(0);
  });

  test("for a target that is slow, or hangs: that is no word that it is too much", async () => {
    const world = worldOf([a], { places: 1000, ms: 4000, says: overloaded }, { leaveMs: 3000 });
    for (let call = 0; call < 100; call++) world.time.start(call * 10, () => world.call());
    await world.time.run();
    for (const { at } of world.visits) expect(at).toBeWithin(0, 1000);
    expect(world.roster.usedTargets()[0]!.concurrency.isHardLimited).toBe(false);
  });

  test("three seconds after it last said so", async () => {
    const concurrency = new AdaptiveConcurrency();
    concurrency.slots.inFlight = 10;
    concurrency.onOverload(1000);
    expect(concurrency.slots.limit).toBe(7);
    expect(concurrency.isFull(3999)).toBe(true);
    expect(concurrency.isFull(4000)).toBe(false);
    expect(concurrency.isHardLimited).toBe(false);
  });
});

test("four at a time it is always given, whatever it says", () => {
  const concurrency = new AdaptiveConcurrency();
  for (const inside of [400, 30, 3, 0, 0]) {
    concurrency.slots.inFlight = inside;
    concurrency.onOverload(0);
  }
  expect(concurrency.slots.limit).toBe(4);
  // And more as soon as it serves these.
  for (let call = 0; call < 20; call++) {
    concurrency.slots.inFlight = concurrency.limit;
    concurrency.increase();
  }
  expect(concurrency.slots.limit).toBeGreaterThan(6);
});

test("one that says so to everybody is not busy but broken, and callers are told at once", async () => {
  for (const seed of seeds) {
    const world = worldOf([a], { places: 0, ms: 1, says: overloaded }, { seed });
    world.steady(0, 6000, 100);
    await world.time.run();
    const late = world.outcomes.filter(({ began }) => began >= 2000);
    const told = late.filter(({ fault }) => fault === "no_healthy_target");
    expect(told.length / late.length, `seed ${seed}`).toBeGreaterThan(0.95);
    expect(world.visits.length, `seed ${seed}`).toBeLessThan(60);
    expectNothingLeft(world);
  }
});

test("one that had too much to do and then hangs serves again within seconds of its return", async () => {
  for (const seed of seeds) {
    const world = worldOf(
      [a],
      { places: 10, ms: 50, says: overloaded },
      { seed, leaveMs: 8000 },
      (now) => (now >= 3000 && now < 9000 ? { kind: "hangs" } : undefined),
    );
    world.loop(40, 0, 20_000);
    await world.time.run();
    const back = world.outcomes.filter(({ began }) => began >= 14_000);
    expect(back.length, `seed ${seed}`).toBeGreaterThan(200);
    const failed = back.filter(({ fault }) => fault !== undefined);
    expect(failed.length / back.length, `seed ${seed}`).toBeLessThan(0.02);
    expectNothingLeft(world);
  }
});

describe("through a gateway", () => {
  let gateway: TestGateway | undefined;
  let atWork = 0;
  let refused = 0;
  const upstream = Bun.serve({
    ...{ port: 0, hostname: "127.0.0.1" },
    fetch: async (request) => {
      const { input } = (await request.json()) as { input: string[] };
      if (atWork >= 6) {
        refused++;
        return Response.json({ error: { message: "busy" } }, { status: 503 });
      }
      atWork++;
      await Bun.sleep(20);
      atWork--;
      const data = input.map((_, index) => ({ object: "embedding", index, embedding: [0.6, 0.8] }));
      return Response.json({ object: "list", model: "own", data });
    },
  });
  afterEach(async () => {
    await gateway?.close();
    upstream.stop(true);
  });

  test("an upstream that serves six at a time serves eighty at once, one after the other", async () => {
    gateway = startGateway({
      yaml: `
upstreams:
  - { id: own, kind: openai-compatible, baseUrl: "http://127.0.0.1:${upstream.port}/v1", apiKey: sk-fake }
models:
  - { id: vectors, kind: embedding, cache: false, batch: false, targets: [{ upstream: own, model: own }] }
keys:
  - { name: test, key: ${testKey} }
`,
      settings: { VEXEL_QUEUE_TIMEOUT: "60" },
    });
    const { post } = gateway;
    const ask = (at: number) => post("/v1/embeddings", { model: "vectors", input: [`${at}`] });
    // It is heard once that it is too much; after that hardly anybody is turned away.
    await Promise.all(Array.from({ length: 20 }, (_, at) => ask(at)));
    refused = 0;
    const responses = await Promise.all(Array.from({ length: 80 }, (_, at) => ask(at)));
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(80);
    expect(refused).toBeLessThan(40);
  }, 20_000);
});
