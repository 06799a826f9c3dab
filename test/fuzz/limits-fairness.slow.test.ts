/** Who goes in when many wait: keys take turns, and nobody waits for ever. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import type { CallPlan } from "./limits-requests.ts";
import { patienceMs, World, worlds } from "./limits-world.ts";

test(
  "keys that wait for the same place get it in turn, whatever each of them has waiting",
  async () => {
    const property = fc.asyncProperty(
      fc.integer({ min: 1, max: 3 }),
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 2, maxLength: 3 }),
      fc.array(fc.nat({ max: 5 }), { minLength: 200, maxLength: 200 }),
      async (concurrent, backlogs, choices) => {
        const world = new World({
          limits: { "model:0": { concurrent } },
          maxWaiting: 1000,
          maxImageCalls: 1000,
        });
        const left = [...backlogs];
        // In any order: all of the first key's before the others', or mixed.
        for (let at = 0; left.some((count) => count > 0); at++) {
          const from = (choices[at % choices.length] ?? 0) % left.length;
          const key = left[from] ? from : left.findIndex((count) => count > 0);
          left[key] = (left[key] ?? 0) - 1;
          await world.arrive({ key, model: 0, tokens: 1, images: 0 });
        }
        const served = backlogs.map(() => 0);
        const first = world.working;
        for (const each of first) await world.finish(each, 1);
        while (world.working.length > 0) {
          const [next] = world.working;
          if (!next) break;
          const { key } = next.plan;
          served[key] = (served[key] ?? 0) + 1;
          await world.finish(next, 1);
          // As long as all have calls waiting, none is ahead of another by more than what is inside at once.
          const waiting = backlogs.map(
            (_, each) => world.waiting.filter(({ plan }) => plan.key === each).length,
          );
          if (waiting.some((count) => count === 0)) break;
          expect(Math.max(...served) - Math.min(...served)).toBeLessThanOrEqual(concurrent + 1);
        }
        await world.end();
      },
    );
    await fc.assert(property, worlds(600));
  },
  patienceMs,
);

// Keys 0 and 1 are of the project, key 2 is of none; model 1 has no limit.
const projectOnly: CallPlan = { key: 1, model: 1, tokens: 1, images: 0 };
const modelOnly: CallPlan = { key: 2, model: 0, tokens: 1, images: 0 };
const twoPlaces = {
  limits: { "project:p": { concurrent: 1 }, "model:0": { concurrent: 1 } },
  maxWaiting: 1000,
  maxImageCalls: 1000,
};

test(
  "a call that needs two places gets both, although others always take the one or the other",
  async () => {
    const property = fc.asyncProperty(
      fc.array(fc.boolean(), { minLength: 400, maxLength: 400 }),
      async (coins) => {
        const world = new World(twoPlaces);
        for (let at = 0; at < 3; at++) {
          await world.arrive(projectOnly);
          await world.arrive(modelOnly);
        }
        const both = await world.arrive({ key: 0, model: 0, tokens: 1, images: 0 });
        let turns = 0;
        for (const coin of coins) {
          if (!both.waits) break;
          turns++;
          const done = world.working.find(({ plan }) => (plan.key === 1) === coin);
          if (!done) continue;
          // Somebody new stands there before the place is free, and somebody else comes at that moment.
          await world.arrive(coin ? projectOnly : modelOnly);
          await world.finish(done, 1);
          await world.arrive(coin ? projectOnly : modelOnly);
        }
        expect(both.works).toBeTrue();
        expect(turns).toBeLessThan(100);
        await world.end();
      },
    );
    await fc.assert(property, worlds(200));
  },
  patienceMs,
);

test(
  "a place that was kept for a call that leaves goes to the next",
  async () => {
    const property = fc.asyncProperty(
      fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }),
      fc.nat({ max: 59 }),
      async (coins, leaves) => {
        const world = new World(twoPlaces);
        for (let at = 0; at < 40; at++) {
          await world.arrive(projectOnly);
          await world.arrive(modelOnly);
        }
        const both = await world.arrive({ key: 0, model: 0, tokens: 1, images: 0 });
        for (const [turn, coin] of coins.entries()) {
          if (turn === leaves && both.waits) {
            await world.leave(both);
            world.expectReasons();
          }
          const done = world.working.find(({ plan }) => (plan.key === 1) === coin);
          if (done) await world.finish(done, 1);
        }
        await world.end();
      },
    );
    await fc.assert(property, worlds(200));
  },
  patienceMs,
);
