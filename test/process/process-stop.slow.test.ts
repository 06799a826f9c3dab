/** Graceful shutdown: a gateway that gets a signal drains requests in flight and accepts no new ones. */

import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { startFake } from "../fake-upstream.ts";
import {
  command,
  commandEnvironment,
  configFor,
  type GatewayProcess,
  readLedger,
  startProcess,
  temporaryFolder,
} from "../harness.ts";
import {
  embeddingModel,
  imageModel,
  jsonHeaders,
  RawConnection,
  toHttpText,
} from "../http/gateway-fixture.ts";
import { until } from "../until.ts";
import { cleanEnvironment } from "./process-fixture.ts";

const fake = startFake();
afterAll(() => fake.close());
let folder: ReturnType<typeof temporaryFolder>;
let gateway: GatewayProcess | undefined;
const running = (): GatewayProcess => {
  if (!gateway) throw new Error("no gateway was started");
  return gateway;
};
const start = async (env: Record<string, string> = {}): Promise<void> => {
  gateway = await startProcess({ folder: folder.path, yaml: configFor(fake.url), env });
};
beforeEach(() => {
  fake.clear();
  folder = temporaryFolder();
});
afterEach(async () => {
  gateway?.kill("SIGKILL");
  await gateway?.exited;
  gateway = undefined;
  folder[Symbol.dispose]();
});

const embed = () => running().post("/v1/embeddings", { model: embeddingModel, input: "a" });
const rows = () => readLedger(join(folder.path, "data"));
/** Timeouts far beyond that of a test: a shutdown that waits for one of them fails the test. */
const noTimeouts = {
  VEXEL_DRAIN_TIMEOUT: "600",
  VEXEL_EMBEDDINGS_TIMEOUT: "600",
  VEXEL_IMAGES_TIMEOUT: "600",
};
/** The exit code, and the milliseconds until the exit. */
async function ended(): Promise<{ code: number; ms: number }> {
  const from = performance.now();
  const code = await running().exited;
  return { code, ms: performance.now() - from };
}

/** Whether the gateway refuses a new connection. */
const isRefusingConnections = (): Promise<boolean> =>
  RawConnection.open(running().url).then(
    (connection) => {
      connection.disconnect();
      return false;
    },
    () => true,
  );

// The other signals: process-wrapper.slow.test.ts.
test("SIGTERM stops an idle gateway without a wait, with exit code 0, in spite of an idle keep-alive connection", async () => {
  await start(noTimeouts);
  await (await embed()).text();
  const connection = await RawConnection.open(running().url);
  connection.send(toHttpText({ path: "/healthz" }));
  expect((await connection.response()).status).toBe(200);
  running().kill("SIGTERM");
  expect((await ended()).code).toBe(0);
  await connection.closed;
  expect(running().output()).toContain('"event":"shutdown","reason":"SIGTERM"');
  expect(running().output().trim().split("\n").at(-1)).toContain('"event":"stopped"');
});

describe("at shutdown a request in flight", () => {
  test('is finished with "connection: close", while the gateway is not ready and soon refuses new connections', async () => {
    await start();
    const release = Promise.withResolvers<void>();
    fake.script({ until: release.promise });
    const connection = await RawConnection.open(running().url);
    connection.send(toHttpText({ path: "/readyz" }));
    expect((await connection.response()).status).toBe(200);
    const slow = embed();
    await fake.arrived(1);
    running().kill("SIGTERM");
    await until(() => running().output().includes('"event":"shutdown"'));
    connection.send(toHttpText({ path: "/readyz" }));
    // Open connections are still served, unless they are already closed.
    const readiness = await connection.response().catch(() => undefined);
    if (readiness) {
      expect(readiness.status).toBe(503);
      expect(JSON.parse(readiness.body)).toMatchObject({ status: "not ready", draining: true });
    }
    await until(isRefusingConnections);
    release.resolve();
    const response = await slow;
    expect(response.status).toBe(200);
    expect(response.headers.get("connection")).toBe("close");
    expect(await response.json()).toMatchObject({ object: "list" });
    expect((await ended()).code).toBe(0);
    const id = response.headers.get("x-request-id");
    expect(rows()).toEqual([expect.objectContaining({ requestId: id, status: 200 })]);
  });

  test("is sent to the last byte, also to a client that reads slowly", async () => {
    await start();
    const connection = await RawConnection.open(running().url);
    const body = JSON.stringify({ model: embeddingModel, input: Array(400).fill("a") });
    connection.pause();
    connection.send(toHttpText({ path: "/v1/embeddings", headers: jsonHeaders, body }));
    await until(() => running().output().includes('"event":"request"'));
    running().kill("SIGTERM");
    await until(() => running().output().includes('"event":"shutdown"'));
    await Bun.sleep(300);
    connection.resume();
    const response = await connection.response();
    expect(response.status).toBe(200);
    expect(JSON.parse(response.body).data).toHaveLength(400);
    expect((await ended()).code).toBe(0);
  });

  test("that is a stream is finished, to its last event", async () => {
    await start();
    fake.script({ eventDelayMs: 500 });
    const response = await running().post("/v1/images/generations", {
      model: imageModel,
      prompt: "an otter",
      stream: true,
      partial_images: 2,
    });
    running().kill("SIGTERM");
    const text = await response.text();
    expect(text).toContain("image_generation.completed");
    expect((await ended()).code).toBe(0);
    expect(rows()).toEqual([expect.objectContaining({ status: 200, images: 1 })]);
  });

  test("is aborted after VEXEL_DRAIN_TIMEOUT, has a row, and does not delay the exit", async () => {
    await start({ ...noTimeouts, VEXEL_DRAIN_TIMEOUT: "1" });
    fake.script({ hang: "headers" });
    const hanging = embed().then(
      ({ status }) => status,
      () => "cut off",
    );
    await fake.arrived(1);
    running().kill("SIGTERM");
    const { code, ms } = await ended();
    expect(code).toBe(0);
    expect(ms).toBeGreaterThan(800);
    expect(await hanging).toBe("cut off");
    expect(running().output()).toContain("shutdown-incomplete");
    expect(running().output()).toContain('"event":"stopped"');
    const cutOff = { endpoint: "embeddings", attempts: 1, status: 503, error: "shutting_down" };
    expect(rows()).toEqual([expect.objectContaining(cutOff)]);
  });

  test("is counted after Ctrl-C, with what a second Ctrl-C does", async () => {
    await start(noTimeouts);
    fake.script({ hang: "headers" });
    const hanging = embed().catch(() => undefined);
    await fake.arrived(1);
    running().kill("SIGINT");
    await until(() => running().output().includes('"event":"shutdown"'));
    expect(running().output()).toContain("waiting for 1 request; Ctrl-C again stops now");
    running().kill("SIGKILL");
    await hanging;
  });

  test("is not waited for after a second signal", async () => {
    await start(noTimeouts);
    fake.script({ hang: "headers" });
    const hanging = embed().catch(() => undefined);
    await fake.arrived(1);
    running().kill("SIGTERM");
    // Two signals within a short time count as one: a terminal's Ctrl-C arrives from the terminal and from the wrapper.
    running().kill("SIGINT");
    await until(() => running().output().includes('"event":"shutdown"'));
    await Bun.sleep(700);
    running().kill("SIGTERM");
    expect((await ended()).code).toBe(0);
    await hanging;
    expect(rows()).toHaveLength(1);
  });
});

test("a gateway whose log has no reader continues to serve, and shuts down cleanly", async () => {
  // A shell starts it, because the read end of the pipe must really be closed.
  const child = Bun.spawn(["bash", "-c", 'exec "$0" "$@" serve 2> >(exit 0)', ...command], {
    cwd: folder.path,
    env: {
      ...cleanEnvironment({ PORT: "0", VEXEL_DATA: join(folder.path, "data") }),
      ...commandEnvironment,
    },
    stdout: "pipe",
  });
  let text = "";
  const reader = child.stdout.getReader();
  while (!text.includes("Try it")) text += new TextDecoder().decode((await reader.read()).value);
  const url = /Base URL {2}(\S+)\/v1/.exec(text)![1]!;
  for (let i = 0; i < 3; i++) {
    expect((await fetch(`${url}/v1/embeddings`, { method: "POST" })).status).toBe(401);
    await Bun.sleep(50);
  }
  child.kill("SIGTERM");
  expect(await child.exited).toBe(0);
});
