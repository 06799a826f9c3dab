/**
 * The queue in front of a worker: how many jobs run, how many wait, and what an aborted or failed job leaves behind.
 */
import { expect, test } from "bun:test";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { createJobQueue } from "../../server/workers/job-queue.ts";

const wait = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));
const neverAborted = new AbortController().signal;

test("a worker queue runs up to its maximum, queues up to its maximum and sheds the rest", async () => {
  const { run } = createJobQueue({ maxRunning: 2, maxWaiting: 3, name: "It" });
  let [running, most] = [0, 0];
  const work = async (): Promise<void> => {
    running += 1;
    most = Math.max(most, running);
    await wait(5);
    running -= 1;
  };
  const outcomes = await Promise.allSettled(
    Array.from({ length: 8 }, () => run({ signal: neverAborted }, work)),
  );
  const refused = outcomes.flatMap((outcome) =>
    outcome.status === "rejected" ? [outcome.reason as unknown] : [],
  );
  expect([most, running, refused.length]).toEqual([2, 0, 3]);
  for (const reason of refused) expect(reason).toMatchObject({ kind: "overloaded" });
  expect(await run({ signal: neverAborted }, async () => "free again")).toBe("free again");
});

test("a queued job that is aborted does not block the jobs behind it", async () => {
  const { run } = createJobQueue({ maxRunning: 1, maxWaiting: 2, name: "It" });
  const controller = new AbortController();
  const first = run({ signal: neverAborted }, () => wait(10));
  const second = run({ signal: controller.signal }, async () => "never").catch(
    (error: unknown) => error,
  );
  const third = run({ signal: neverAborted }, async () => "third");
  controller.abort();
  const error = await second;
  expect(error).toBeInstanceOf(GatewayError);
  expect([(error as GatewayError).kind, await third]).toEqual(["client_closed", "third"]);
  await first;
});

test("a job that fails gives its slot back", async () => {
  const { run } = createJobQueue({ maxRunning: 1, maxWaiting: 1, name: "It" });
  const failing = run({ signal: neverAborted }, () => Promise.reject(new Error("no")));
  await expect(failing).rejects.toThrow("no");
  expect(await run({ signal: neverAborted }, async () => 1)).toBe(1);
});
