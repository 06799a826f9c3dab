/** Fairness of admission queues: API keys take turns, and no request starves. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import type { RequestPlan } from "./limits-requests.ts";
import { LimitsSimulation, runs } from "./limits-simulation.ts";

test("API keys that queue for the same concurrency slot take turns, however many requests each has queued", async () => {
  const property = fc.asyncProperty(
    fc.integer({ min: 1, max: 3 }),
    fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 2, maxLength: 3 }),
    fc.array(fc.nat({ max: 5 }), { minLength: 200, maxLength: 200 }),
    async (concurrent, backlogs, choices) => {
      const simulation = new LimitsSimulation({
        limits: { "model:0": { concurrent } },
        maxWaiting: 1000,
        maxImageCalls: 1000,
      });
      const left = [...backlogs];
      // In any order: all requests of the first key before the others', or mixed.
      for (let at = 0; left.some((count) => count > 0); at++) {
        const from = (choices[at % choices.length] ?? 0) % left.length;
        const key = left[from] ? from : left.findIndex((count) => count > 0);
        left[key] = (left[key] ?? 0) - 1;
        await simulation.arrive({ key, model: 0, tokens: 1, images: 0 });
      }
      const served = backlogs.map(() => 0);
      const first = simulation.working;
      for (const each of first) await simulation.finish(each, 1);
      while (simulation.working.length > 0) {
        const [next] = simulation.working;
        if (!next) break;
        const { key } = next.plan;
        served[key] = (served[key] ?? 0) + 1;
        await simulation.finish(next, 1);
        // While all keys have queued requests, none is ahead of another by more than the concurrency limit.
        const waiting = backlogs.map(
          (_, each) => simulation.waiting.filter(({ plan }) => plan.key === each).length,
        );
        if (waiting.some((count) => count === 0)) break;
        expect(Math.max(...served) - Math.min(...served)).toBeLessThanOrEqual(concurrent + 1);
      }
      await simulation.end();
    },
  );
  await fc.assert(property, runs(600));
});

// Keys 0 and 1 belong to the project, key 2 to none; model 1 has no limit.
const projectOnly: RequestPlan = { key: 1, model: 1, tokens: 1, images: 0 };
const modelOnly: RequestPlan = { key: 2, model: 0, tokens: 1, images: 0 };
const twoSlots = {
  limits: { "project:p": { concurrent: 1 }, "model:0": { concurrent: 1 } },
  maxWaiting: 1000,
  maxImageCalls: 1000,
};

test("a request that needs two concurrency slots gets both, although other requests keep taking one of them", async () => {
  const property = fc.asyncProperty(
    fc.array(fc.boolean(), { minLength: 400, maxLength: 400 }),
    async (coins) => {
      const simulation = new LimitsSimulation(twoSlots);
      for (let at = 0; at < 3; at++) {
        await simulation.arrive(projectOnly);
        await simulation.arrive(modelOnly);
      }
      const both = await simulation.arrive({ key: 0, model: 0, tokens: 1, images: 0 });
      let turns = 0;
      for (const coin of coins) {
        if (!both.waits) break;
        turns++;
        const done = simulation.working.find(({ plan }) => (plan.key === 1) === coin);
        if (!done) continue;
        // One request queues before the slot is free, and another arrives right after.
        await simulation.arrive(coin ? projectOnly : modelOnly);
        await simulation.finish(done, 1);
        await simulation.arrive(coin ? projectOnly : modelOnly);
      }
      expect(both.works).toBeTrue();
      expect(turns).toBeLessThan(100);
      await simulation.end();
    },
  );
  await fc.assert(property, runs(200));
});

test("a concurrency slot that was held for a canceled request goes to the next one", async () => {
  const property = fc.asyncProperty(
    fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }),
    fc.nat({ max: 59 }),
    async (coins, disconnectsAt) => {
      const simulation = new LimitsSimulation(twoSlots);
      for (let at = 0; at < 40; at++) {
        await simulation.arrive(projectOnly);
        await simulation.arrive(modelOnly);
      }
      const both = await simulation.arrive({ key: 0, model: 0, tokens: 1, images: 0 });
      for (const [turn, coin] of coins.entries()) {
        if (turn === disconnectsAt && both.waits) {
          await simulation.disconnect(both);
          simulation.expectReasons();
        }
        const done = simulation.working.find(({ plan }) => (plan.key === 1) === coin);
        if (done) await simulation.finish(done, 1);
      }
      await simulation.end();
    },
  );
  await fc.assert(property, runs(200));
});
