/** The schedule of drift checks: new targets at once, targets that did not respond again, and all targets at times. */
import { expect, test } from "bun:test";
import { scheduleDriftChecks } from "../../server/embeddings/drift-detection.ts";
import type { Timers } from "../../server/lib/timers.ts";

/** Time that passes only by `pass`. Records when checks ran, and of what. */
function setUpSchedule() {
  let now = 0;
  const running = new Map<object, { readonly at: number; readonly fire: () => void }>();
  const timers: Timers = {
    start: (ms, fire) => {
      const timer = {};
      running.set(timer, { at: now + ms, fire });
      return timer;
    },
    stop: (timer) => void running.delete(timer as object),
  };
  const checks: [seconds: number, all: boolean][] = [];
  const schedule = scheduleDriftChecks({
    hours: 24,
    check: async (all) => void checks.push([now / 1000, all]),
    timers,
    clock: () => now,
  });
  const pass = async (seconds: number): Promise<void> => {
    const until = now + seconds * 1000;
    for (;;) {
      const [next] = [...running].sort(([, a], [, b]) => a.at - b.at);
      if (!next || next[1].at > until) break;
      now = next[1].at;
      running.delete(next[0]);
      next[1].fire();
      await Bun.sleep(0);
    }
    now = until;
  };
  return { schedule, pass, checks, pending: () => running.size };
}

test("targets that did not respond are checked again every ten minutes, and all targets once a day", async () => {
  const { schedule, pass, checks } = setUpSchedule();
  schedule.start();
  await pass(24 * 3600);
  expect(checks.slice(0, 4).map(([at]) => at)).toEqual([0, 600, 1200, 1800]);
  expect(checks.filter(([, all]) => all)).toEqual([[24 * 3600, true]]);
});

test("a new target is checked at once", async () => {
  const { schedule, pass, checks } = setUpSchedule();
  schedule.start();
  await pass(1000);
  checks.length = 0;
  schedule.onNewTarget();
  await pass(25);
  expect(checks.map(([at]) => at)).toEqual([1000]);
});

test("a silent target that serves clients is checked at once, and at most every 10 s", async () => {
  const { schedule, pass, checks } = setUpSchedule();
  schedule.start();
  await pass(1000);
  checks.length = 0;
  for (let response = 0; response < 1000; response++) {
    schedule.onResponding();
    await pass(0.05);
  }
  expect(checks[0]?.[0]).toBe(1000);
  expect(checks.length).toBeWithin(4, 7);
});
