/** The built-in model runs in a child process that the gateway supervises. */

import { afterAll, afterEach, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { createMinilm, type MinilmOptions } from "../../server/workers/embedding/minilm.ts";
import { until } from "../until.ts";
import { embed, expectError, isAlive, sentences } from "./built-in-fixture.ts";

const open: ReturnType<typeof createMinilm>[] = [];
const start = (options: MinilmOptions = {}) => {
  const minilm = createMinilm(options);
  open.push(minilm);
  return minilm;
};
const pidOf = (minilm: ReturnType<typeof createMinilm>): number => {
  const { pid } = minilm.state();
  if (pid === undefined) throw new Error("there is no child process");
  return pid;
};
afterEach(async () => {
  await Promise.all(open.splice(0).map((minilm) => minilm.close()));
});

/** For tests that do not change its state. */
const shared = createMinilm();
afterAll(() => shared.close());

test("the model's process starts with the first request, and does not get the gateway's secrets", async () => {
  process.env.VEXEL_TEST_SECRET = "sk-not-for-the-model";
  const minilm = shared;
  expect(minilm.state()).toEqual({ requests: 0, weight: 0 });
  await embed(minilm, ["hello"]);
  expect(pidOf(minilm)).not.toBe(process.pid);
  if (process.platform === "linux") {
    const loaded = (pid: number | "self") => readFileSync(`/proc/${pid}/maps`, "utf8");
    expect(loaded(pidOf(minilm))).toInclude("onnxruntime");
    expect(loaded("self")).not.toInclude("onnxruntime");
    const environment = readFileSync(`/proc/${pidOf(minilm)}/environ`, "utf8");
    expect(environment).toInclude("PATH=");
    expect(environment).not.toInclude("sk-not-for-the-model");
  }
  delete process.env.VEXEL_TEST_SECRET;
});

test("a large job blocks neither the gateway's event loop nor a small request", async () => {
  const minilm = shared;
  await embed(minilm, ["warm"]);
  const gaps: number[] = [];
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    gaps.push(now - last);
    last = now;
  }, 5);
  const finished: string[] = [];
  const big = embed(minilm, sentences(150)).then(({ vectors }) => {
    finished.push("big");
    expect(vectors).toHaveLength(150);
  });
  await Bun.sleep(50);
  const small = embed(minilm, ["one small question"]).then(() => finished.push("small"));
  await Promise.all([big, small]);
  clearInterval(timer);
  expect(finished).toEqual(["small", "big"]);
  gaps.sort((a, b) => a - b);
  expect(gaps.length).toBeGreaterThan(20);
  // If the model ran in this process, each batch would block the timer for about 70 ms, and nearly every gap would be
  // that long.
  expect(gaps[Math.floor(gaps.length / 2)]).toBeLessThan(20);
  expect(gaps.at(-1)).toBeLessThan(500);
});

test("an idle model is stopped, and started again by the next request; one that is working is not idle", async () => {
  const minilm = start({ idleMs: 20 });
  const before = await embed(minilm, sentences(40));
  expect(before.vectors).toHaveLength(40);
  const first = pidOf(minilm);
  await until(() => !isAlive(first));
  expect(minilm.state()).toEqual({ requests: 0, weight: 0 });
  const after = await embed(minilm, sentences(40));
  expect(after.vectors).toEqual(before.vectors);
});

test("signals for the gateway do not end the model during its last requests", async () => {
  const minilm = shared;
  await embed(minilm, ["warm"]);
  const big = embed(minilm, sentences(40));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.kill(pidOf(minilm), signal);
  expect((await big).vectors).toHaveLength(40);
});

test.each(["idle", "busy"])(
  "the %s process ends when the gateway is killed with SIGKILL",
  async (state) => {
    const program = `
    import { createMinilm } from ${JSON.stringify(require.resolve("../../server/workers/embedding/minilm.ts"))};
    import { embed, sentences } from ${JSON.stringify(require.resolve("./built-in-fixture.ts"))};
    const minilm = createMinilm();
    await embed(minilm, ["warm"]);
    if (${state === "busy"}) void embed(minilm, sentences(4000));
    console.log(minilm.state().pid);
    setInterval(() => {}, 1000);`;
    const gateway = Bun.spawn([process.execPath, "-e", program], {
      stdout: "pipe",
      stderr: "inherit",
    });
    const { value } = await gateway.stdout.getReader().read();
    const pid = Number(new TextDecoder().decode(value));
    expect(isAlive(pid)).toBe(true);
    gateway.kill("SIGKILL");
    await gateway.exited;
    await until(() => !isAlive(pid));
  },
);

/** For the tests below, one after the other: the last one closes it. */
const own = createMinilm({ maxQueued: 2_100 });
afterAll(() => own.close());

test("a request aborted before it begins, or without a reason, is a client disconnect", async () => {
  const minilm = own;
  await expectError(embed(minilm, ["a"], { signal: AbortSignal.abort() }), "client_closed");
  expect(minilm.state()).toEqual({ requests: 0, weight: 0 });
});

test("an aborted request leaves the queue with its abort reason", async () => {
  const minilm = own;
  await embed(minilm, ["warm"]);
  const timeOf = async (text: string): Promise<number> => {
    const started = performance.now();
    await embed(minilm, [text]);
    return performance.now() - started;
  };
  const ordinaryMs = await timeOf("an ordinary request");
  const controller = new AbortController();
  const big = embed(minilm, sentences(2_000), { signal: controller.signal });
  const rejection = expectError(big, "upstream_timeout", /too slow/);
  await Bun.sleep(30);
  controller.abort(new GatewayError("upstream_timeout", "too slow"));
  await rejection;
  expect(minilm.state()).toMatchObject({ requests: 0, weight: 0 });
  // The whole request would take several seconds. Only its current batch is finished before the next request.
  expect(await timeOf("the next")).toBeLessThan(2_500 + 20 * ordinaryMs);
});

test("when the process is killed, requests in flight get a declared error and the next request restarts it", async () => {
  const minilm = own;
  const first = pidOf(minilm);
  const [big, small] = [embed(minilm, sentences(400)), embed(minilm, ["small"])];
  const errors = [big, small].map((call) => expectError(call, "upstream_unreachable", /SIGKILL/));
  process.kill(first, "SIGKILL");
  await Promise.all(errors);
  expect(minilm.state()).toEqual({ requests: 0, weight: 0 });
  expect((await embed(minilm, ["again"])).vectors[0]).toHaveLength(384);
  expect(pidOf(minilm)).not.toBe(first);
});

test("closing ends the process, and its pending requests", async () => {
  const minilm = own;
  const pid = pidOf(minilm);
  const owed = expectError(embed(minilm, sentences(400)), "shutting_down");
  await minilm.close();
  await owed;
  expect(isAlive(pid)).toBe(false);
  await expectError(embed(minilm, ["late"]), "shutting_down");
  await minilm.close();
});
