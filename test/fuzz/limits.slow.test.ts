/** Limits and queues in thousands of simulations: bursts, clock jumps, reloads, disconnects. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Limits } from "../../contract/limits-and-budgets.ts";
import { rates } from "../../server/limits/rate-limit-counters.ts";
import { demandOf, limitOf, type RequestPlan } from "./limits-requests.ts";
import { LimitsSimulation, runs, type SimulatedRequest } from "./limits-simulation.ts";

const limits: fc.Arbitrary<Limits> = fc.record(
  {
    requestsPerMinute: fc.integer({ min: 1, max: 12 }),
    tokensPerMinute: fc.integer({ min: 1, max: 400 }),
    imagesPerMinute: fc.integer({ min: 1, max: 8 }),
    megapixelsPerMinute: fc.integer({ min: 1, max: 8 }),
    concurrent: fc.integer({ min: 1, max: 3 }),
  },
  { requiredKeys: [] },
);
const names = ["key:0", "key:1", "key:2", "project:p", "model:0", "model:1"];
const table = fc.record(
  Object.fromEntries(names.map((name) => [name, limits])) as Record<string, typeof limits>,
  { requiredKeys: [] },
) as fc.Arbitrary<Record<string, Limits>>;
const plan = fc.record({
  limits: table,
  maxWaiting: fc.integer({ min: 0, max: 6 }),
  maxImageCalls: fc.integer({ min: 1, max: 3 }),
});
const request: fc.Arbitrary<RequestPlan> = fc.record({
  key: fc.nat({ max: 2 }),
  model: fc.nat({ max: 1 }),
  tokens: fc.integer({ min: 0, max: 120 }),
  images: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 3 })),
});
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("arrive" as const), request }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("finish" as const),
      which: fc.nat({ max: 9 }),
      factor: fc.option(fc.constantFrom(0, 0.5, 1, 1, 3), { nil: undefined }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("disconnect" as const), which: fc.nat({ max: 9 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("advance" as const),
      // The clock, which is monotonic, hardly moves, advances, or jumps ahead.
      ms: fc.constantFrom(0, 0.3, 1, 40, 999.5, 5000, 20_000, 86_400_000),
    }),
  },
);
const steps = fc.array(step, { maxLength: 50 });
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function take(simulation: LimitsSimulation, next: Step): Promise<void> {
  const at = <T>(list: readonly T[], which: number): T | undefined => list[which % list.length];
  if (next.do === "arrive") await simulation.arrive(next.request);
  else if (next.do === "advance") await simulation.advance(next.ms);
  else if (next.do === "finish") {
    const chosen = at(simulation.working, next.which);
    if (chosen) await simulation.finish(chosen, next.factor);
  } else {
    const chosen = at(simulation.waiting, next.which);
    if (chosen) await simulation.disconnect(chosen);
  }
}

/** Usage at a moment, and how far the clock had advanced. */
interface Moment {
  readonly used: number;
  readonly passed: number;
}

test("in any interval no more is admitted than the capacity of the token bucket and its refill", async () => {
  const property = fc.asyncProperty(plan, steps, async (plan, steps) => {
    const simulation = new LimitsSimulation(plan);
    const counts = names.flatMap((id) =>
      rates.flatMap((rate) => {
        const limit = limitOf(simulation.limitsOf(id), rate);
        return limit === undefined ? [] : [{ id, rate, limit, past: [origin] }];
      }),
    );
    for (const next of steps) {
      const before = simulation.requests.length;
      await take(simulation, next);
      simulation.expectExact();
      const letIn =
        simulation.requests.length > before && simulation.requests.at(-1)?.error === undefined;
      for (const { id, rate, limit, past } of counts) {
        const now: Moment = { used: simulation.used(id, rate), passed: simulation.passed };
        past.push(now);
        // A later correction of usage may exceed the limit; an admission never does.
        if (!letIn || !simulation.requests.at(-1)?.scopes.includes(id)) continue;
        for (const then of past) {
          const came = (limit * (now.passed - then.passed)) / 60_000;
          if (demandOf((simulation.requests.at(-1) as SimulatedRequest).plan)[rate] === 0) continue;
          expect(now.used - then.used).toBeLessThanOrEqual(limit + came + 1e-6);
        }
      }
    }
    await simulation.end();
  });
  await fc.assert(property, runs(2000));
});

const origin: Moment = { used: 0, passed: 0 };

test("a rate-limited request is admitted after exactly its retry-after, and not a millisecond sooner", async () => {
  const property = fc.asyncProperty(plan, steps, request, async (plan, steps, last) => {
    // Without concurrency limits and queues.
    const rated = Object.fromEntries(
      Object.entries(plan.limits).map(([id, { concurrent: _, ...rest }]) => [id, rest]),
    );
    const simulation = new LimitsSimulation({
      limits: rated,
      maxWaiting: 0,
      maxImageCalls: 1000,
    });
    for (const next of steps) await take(simulation, next);
    const refused = await simulation.arrive(last);
    const waitMs = refused.error?.details.retryAfterMs;
    if (refused.error === undefined || refused.error.kind === "larger_than_limit") return;
    expect(refused.error.kind).toBe("rate_limited");
    expect(waitMs).toBeInteger();
    expect(waitMs).toBeGreaterThan(0);
    await simulation.advance(Math.floor(simulation.now) + (waitMs as number) - 1 - simulation.now);
    const early = await simulation.arrive(last);
    expect(early.error?.details.retryAfterMs).toBe(1);
    await simulation.advance(1);
    const punctual = await simulation.arrive(last);
    expect(punctual.error).toBeUndefined();
  });
  await fc.assert(property, runs(1500));
});

test("concurrency and queue limits are never exceeded, and no request is queued while its slots are free", async () => {
  const property = fc.asyncProperty(plan, steps, async (plan, steps) => {
    const simulation = new LimitsSimulation(plan);
    for (const next of steps) {
      await take(simulation, next);
      const { working, waiting } = simulation;
      for (const id of names) {
        const inside = working.filter(({ scopes }) => scopes.includes(id)).length;
        expect(inside).toBeLessThanOrEqual(simulation.limitsOf(id).concurrent ?? Infinity);
      }
      expect(working.filter(({ plan: { images } }) => images > 0).length).toBeLessThanOrEqual(
        plan.maxImageCalls,
      );
      expect(waiting.length).toBeLessThanOrEqual(plan.maxWaiting);
      simulation.expectReasons();
    }
    await simulation.end();
  });
  await fc.assert(property, runs(1500));
});

test("a reload loses no request, and admits no more than the larger of the old and the new limit", async () => {
  const property = fc.asyncProperty(plan, steps, table, steps, async (plan, steps, later, more) => {
    const simulation = new LimitsSimulation(plan);
    const most = (id: string, rate: (typeof rates)[number]): number =>
      Math.max(
        limitOf(plan.limits[id] ?? {}, rate) ?? Infinity,
        limitOf(later[id] ?? {}, rate) ?? Infinity,
      );
    for (const next of steps)
      await take(simulation, next.do === "finish" ? { ...next, factor: 1 } : next);
    await simulation.reload(later);
    simulation.expectReasons();
    for (const next of more)
      await take(simulation, next.do === "finish" ? { ...next, factor: 1 } : next);
    for (const id of names) {
      for (const rate of rates) {
        const limit = most(id, rate);
        if (limit === Infinity) continue;
        expect(simulation.used(id, rate)).toBeLessThanOrEqual(
          limit + (limit * simulation.passed) / 60_000 + 1e-6,
        );
      }
    }
    await simulation.end();
  });
  await fc.assert(property, runs(600));
});
