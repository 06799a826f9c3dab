/** Retention deletes in steps, and other work runs between them. */
import { expect, test } from "bun:test";
import { createPruning } from "../../server/storage/prune-in-steps.ts";

test("steps run until nothing is left, with time for other work after each", async () => {
  let left = 1200;
  const turns: number[] = [];
  const timer = setInterval(() => turns.push(left), 1);
  await createPruning().run(async (limit) => {
    left -= Math.min(left, limit);
    return left > 0;
  });
  clearInterval(timer);
  expect(left).toBe(0);
  expect([...new Set(turns)]).toEqual([700, 200]);
});

test("a run does nothing while an earlier one has not ended, and runs again after an error", async () => {
  const pruning = createPruning();
  let steps = 0;
  const step = async (): Promise<boolean> => ++steps < 3;
  await Promise.all([pruning.run(step), pruning.run(step)]);
  expect(steps).toBe(3);
  await expect(pruning.run(() => Promise.reject(new Error("locked")))).rejects.toThrow("locked");
  await pruning.run(step);
  expect(steps).toBe(4);
});

test("no step begins after pruning was stopped", async () => {
  const pruning = createPruning();
  let steps = 0;
  const running = pruning.run(async () => {
    steps++;
    return true;
  });
  await Bun.sleep(1);
  pruning.stop();
  await running;
  expect(steps).toBe(1);
  await pruning.run(async () => {
    steps++;
    return false;
  });
  expect(steps).toBe(1);
});
