/** Transient errors: a request is retried, also on a model's only target, within the retry budget. */
import { afterEach, describe, expect, test } from "bun:test";
import type { ErrorKind } from "../../contract/errors.ts";
import { routeTo, targetNamed } from "../embeddings/stage-fixture.ts";
import { expectVectors } from "../faults/faults-fixture.ts";
import { type Mood, World, type WorldOptions } from "../fuzz/scheduling-world.ts";
import { arrange, closeArranged } from "./routing-gateway-fixture.ts";

afterEach(closeArranged);

const [a, b] = [targetNamed("a"), targetNamed("b")];
const well: Mood = { kind: "well", ms: 10 };
const failing = (fault: ErrorKind, share = 1): Mood => ({ kind: "fails", share, ms: 5, fault });
const seeds = Array.from({ length: 20 }, (_, at) => at + 1);

/** One call in a world whose targets say these, one after the other, and are well after that. */
async function oneCall(moods: readonly Mood[], more: Partial<WorldOptions> = {}) {
  const left = [...moods];
  const moodOf = () => left.shift() ?? well;
  const world = new World({ seed: 1, route: routeTo(a), moodOf, ...more });
  world.call();
  await world.time.run();
  expect(world.outcomes).toHaveLength(1);
  expect(world.outcomes[0]!.call.signal.listeners.size).toBe(0);
  for (const { inFlight } of world.roster.usedTargets()) expect(inFlight).toBe(0);
  return { world, outcome: world.outcomes[0]!, asked: world.visits.map(({ target }) => target) };
}

const pausesOf = ({ visits }: World): number[] =>
  visits.slice(1).map(({ at }, before) => at - visits[before]!.at);

describe("the only target of a model", () => {
  test.each<ErrorKind>([
    "upstream_error",
    "upstream_overloaded",
    "upstream_unreachable",
    "upstream_timeout",
  ])(
    "that fails once or twice is asked again, and the caller does not notice: %s",
    async (fault) => {
      for (const times of [1, 2]) {
        const { outcome, asked } = await oneCall(Array(times).fill(failing(fault)));
        expect(outcome.fault).toBeUndefined();
        expect(asked).toHaveLength(times + 1);
        expect(outcome.call.record.routing.attempts).toBe(times + 1);
      }
    },
  );

  test("is not asked a fourth time", async () => {
    const { outcome, asked } = await oneCall(Array(9).fill(failing("upstream_error")));
    expect(outcome.fault).toBe("upstream_error");
    expect(asked).toHaveLength(3);
  });

  test.each<ErrorKind>([
    "upstream_rejected",
    "context_length_exceeded",
    "upstream_invalid",
    "upstream_credentials",
    "insufficient_quota",
    "model_not_found",
    "upstream_rate_limit",
  ])("is not asked again for what would only come again: %s", async (fault) => {
    const { outcome, asked } = await oneCall([failing(fault)]);
    expect(outcome.fault).toBe(fault);
    expect(asked).toHaveLength(1);
  });

  test("is left alone for a moment first, a longer one the second time, and by chance", async () => {
    const [first, second] = [new Set<number>(), new Set<number>()];
    for (const seed of seeds) {
      const { world } = await oneCall(Array(2).fill(failing("upstream_error")), { seed });
      const [one, two] = pausesOf(world) as [number, number];
      // With the five milliseconds that a failure takes, give or take a half.
      expect(one).toBeWithin(52.5, 257.5);
      expect(two).toBeWithin(102.5, 507.5);
      first.add(one);
      second.add(two);
    }
    expect(first.size).toBe(seeds.length);
    expect(second.size).toBe(seeds.length);
  });

  test("that says when to come back is asked again then, if that is soon", async () => {
    const { world, outcome } = await oneCall([{ kind: "limited", retryAfterMs: 400 }]);
    expect(outcome.fault).toBeUndefined();
    expect(pausesOf(world)[0]).toBeWithin(450, 660);
    const later = await oneCall([{ kind: "limited", retryAfterMs: 501 }]);
    expect(later.outcome).toMatchObject({ fault: "upstream_rate_limit", retryAfterMs: 501 });
    expect(later.asked).toHaveLength(1);
  });

  test("is not waited for beyond the time of the call", async () => {
    const { outcome, asked } = await oneCall([failing("upstream_error")], { deadlineMs: 50 });
    expect(outcome.fault).toBe("upstream_timeout");
    expect(outcome.ended).toBe(50);
    expect(asked).toHaveLength(1);
  });

  test("that breaks down over one text is not put out for the others by its being asked again", async () => {
    const bad: Mood = failing("upstream_error");
    const world = new World({ seed: 1, route: routeTo(a), moodOf: () => bad });
    for (let call = 0; call < 4; call++) world.time.start(call * 2000, () => world.call());
    await world.time.run();
    expect(world.visits).toHaveLength(12);
    expect(world.news).toEqual([]);
  });

  test("that is out is not asked again: callers who failed with it hear so at once", async () => {
    const world = new World({
      ...{ seed: 1, route: routeTo(a) },
      moodOf: () => failing("upstream_error"),
    });
    for (let call = 0; call < 20; call++) world.time.start(0, () => world.call());
    await world.time.run();
    // All of them were under way when the fifth failed.
    expect(world.visits).toHaveLength(20);
    for (const { ended } of world.outcomes) expect(ended).toBeLessThan(600);
  });

  test("that fails one call in twenty fails hardly anybody", async () => {
    for (const seed of seeds) {
      const mood = failing("upstream_error", 0.05);
      const world = new World({ seed, route: routeTo(a), moodOf: () => mood });
      world.steady(0, 10_000, 60);
      await world.time.run();
      const failed = world.outcomes.filter(({ fault }) => fault !== undefined);
      expect(failed.length / world.calls, `seed ${seed}`).toBeLessThan(0.01);
    }
  });
});

describe("of several targets", () => {
  test("all are asked before any is asked again", async () => {
    const { outcome, asked } = await oneCall(Array(3).fill(failing("upstream_error")), {
      route: routeTo(a, b),
    });
    expect(outcome.fault).toBeUndefined();
    expect(asked).toHaveLength(4);
    expect(new Set(asked.slice(0, 2)).size).toBe(2);
  });
});

describe("however many call, and whatever fails", () => {
  test.each([1, 2])(
    "no more than a fifth is asked again, and a few: %d targets",
    async (count) => {
      const targets = [a, b].slice(0, count);
      for (const seed of seeds) {
        const share = 0.3 + 0.6 * (seed / seeds.length);
        const world = new World({
          ...{ seed, route: routeTo(...targets) },
          // One that hardly fails before, so that nobody is left alone for failing now and then.
          moodOf: (_, now) => failing("upstream_overloaded", now < 1000 ? 0.15 : share),
        });
        world.steady(0, 20_000, 150);
        await world.time.run();
        const told = world.outcomes.filter(({ fault }) => fault === "no_healthy_target").length;
        const extra = world.visits.length - (world.calls - told);
        expect(extra, `seed ${seed}`).toBeLessThanOrEqual(0.2 * world.calls + 50 * 4);
      }
    },
    30_000,
  );
});

describe("pictures", () => {
  const more = { operation: "generations" } as const;

  test("that may have been paid for are not ordered again, unless the model says so", async () => {
    const faults: ErrorKind[] = ["upstream_error", "upstream_unreachable", "upstream_timeout"];
    for (const fault of faults) {
      const { outcome, asked } = await oneCall([failing(fault)], more);
      expect(outcome.fault).toBe(fault);
      expect(asked).toHaveLength(1);
      const route = { ...routeTo(a), retryPaid: true as const };
      expect((await oneCall([failing(fault)], { ...more, route })).asked).toHaveLength(2);
    }
  });

  test("that cannot have been made are", async () => {
    for (const mood of [failing("upstream_overloaded"), { kind: "gone" } as const]) {
      const { outcome, asked } = await oneCall([mood], more);
      expect(outcome.fault).toBeUndefined();
      expect(asked).toHaveLength(2);
    }
  });
});

describe("through a gateway", () => {
  test.each([
    ["resets the connection", { reset: "mid-headers" }, "upstream_unreachable"],
    ["breaks down", { fail: "server-error" }, "upstream_error"],
    ["is overloaded", { fail: "overloaded" }, "upstream_overloaded"],
    ["says to come back soon", { fail: "rate-limit", retryAfterMs: 50 }, "upstream_rate_limit"],
  ] as const)("an only upstream that %s once costs nobody a call", async (_, mischief, fault) => {
    const { gateway, fakes, embed } = arrange({ upstreams: 1 });
    // The first of its life, and one of many that are not looked at any more.
    for (const before of [0, 60]) {
      for (let call = 0; call < before; call++) await expectVectors(await embed());
      fakes[0]!.clear();
      fakes[0]!.script(mischief);
      await expectVectors(await embed());
      expect(fakes[0]!.requests).toHaveLength(2);
      expect(gateway.rows().at(-1)).toMatchObject({
        ...{ status: 200, error: null, attempts: 2 },
        steps: `u0/text-embedding-3-small: ${fault}`,
      });
    }
  });

  test("calls that come together, and travel as one, are all answered after a reset", async () => {
    const { fakes, gateway } = arrange({ upstreams: 1 });
    fakes[0]!.script({ reset: "before-headers" }, { times: 2 });
    const responses = await Promise.all(
      Array.from({ length: 12 }, (_, at) =>
        gateway.post("/v1/embeddings", { model: "vectors", input: [`text ${at}`] }),
      ),
    );
    for (const [at, response] of responses.entries()) {
      await expectVectors(response, [`text ${at}`]);
    }
  });
});
