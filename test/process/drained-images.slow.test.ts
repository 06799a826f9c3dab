/**
 * An image request that takes longer than the drain is finished, because it is billed. If a second signal ends it, its
 * client and its retries are told that the image may have been billed, and no retry generates it again.
 */
import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { startFake } from "../fake-upstream.ts";
import {
  configFor,
  type GatewayProcess,
  readLedger,
  startProcess,
  temporaryFolder,
} from "../harness.ts";
import { bearer, imageModel } from "../http/gateway-fixture.ts";
import { testWith } from "../programs.ts";
import { sharedPostgres } from "../storage/postgres-server.ts";
import { startRedis, testWithRedis } from "../storage/redis-server.ts";
import { until } from "../until.ts";

const fake = startFake();
afterAll(() => fake.close());
const gateways: GatewayProcess[] = [];
let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  fake.clear();
  folder = temporaryFolder();
});
afterEach(async () => {
  for (const gateway of gateways.splice(0)) {
    gateway.kill("SIGKILL");
    await gateway.exited;
  }
  folder[Symbol.dispose]();
});

/** Two starts with the same name use the same data folder. */
async function start(name: string, env: Record<string, string> = {}): Promise<GatewayProcess> {
  const path = join(folder.path, name);
  mkdirSync(path, { recursive: true });
  const gateway = await startProcess({
    folder: path,
    yaml: configFor(fake.url),
    env: { VEXEL_DRAIN_TIMEOUT: "1", ...env },
  });
  gateways.push(gateway);
  return gateway;
}

interface Told {
  readonly status: number;
  readonly shouldRetry: string | null;
  readonly retryAfter: string | null;
  readonly code: string | undefined;
  readonly text: string;
}

async function read(response: Response): Promise<Told> {
  const text = await response.text();
  return {
    status: response.status,
    shouldRetry: response.headers.get("x-should-retry"),
    retryAfter: response.headers.get("retry-after"),
    code: /"code":"(\w+)"/.exec(text)?.[1],
    text,
  };
}

const generate = (
  gateway: GatewayProcess,
  { stream = false, key = "k1" }: { stream?: boolean; key?: string } = {},
): Promise<Response> =>
  gateway.post(
    "/v1/images/generations",
    { model: imageModel, prompt: "an otter", stream },
    { "idempotency-key": key },
  );
const paid = (): number => fake.requests.filter(({ method }) => method === "POST").length;

/** Requests an image with an Idempotency-Key, and disconnects while the upstream generates it. */
async function generateAndDisconnect(gateway: GatewayProcess, key = "k1"): Promise<void> {
  const client = new AbortController();
  const request = fetch(`${gateway.url}/v1/images/generations`, {
    method: "POST",
    headers: { ...bearer, "content-type": "application/json", "idempotency-key": key },
    body: JSON.stringify({ model: imageModel, prompt: "an otter", stream: false }),
    signal: client.signal,
  }).catch(() => undefined);
  await fake.arrived(1);
  client.abort();
  await request;
}

const metricsToken = "token-of-the-metrics";
const metrics = async ({ url }: GatewayProcess): Promise<string> =>
  (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${metricsToken}` } })).text();

/** Signals the gateway, and waits until its drain has timed out. */
async function drain(gateway: GatewayProcess): Promise<void> {
  gateway.kill("SIGTERM");
  await until(() => gateway.output().includes('"event":"shutdown-waits-for-images"'));
}

/** Signals the gateway twice: it ends without the requests in flight. */
async function stopAtOnce(gateway: GatewayProcess): Promise<void> {
  await drain(gateway);
  gateway.kill("SIGTERM");
  expect(await gateway.exited).toBe(0);
}

describe("an image that takes longer than VEXEL_DRAIN_TIMEOUT", () => {
  test("is generated once, delivered to its client, also as a stream, and recorded in the ledger", async () => {
    const gateway = await start("one");
    const release = Promise.withResolvers<void>();
    fake.script({ until: release.promise }, { times: 2 });
    const responses = [false, true].map((stream) =>
      generate(gateway, { stream, key: `stream: ${stream}` }).then(read),
    );
    await fake.arrived(2);
    await drain(gateway);
    expect(gateway.output()).toMatch(/"shutdown-waits-for-images","images":2,"seconds":\d+/);
    release.resolve();
    for (const { status, text } of await Promise.all(responses)) {
      expect(status).toBe(200);
      expect(text).toContain('"b64_json":"');
    }
    expect(await gateway.exited).toBe(0);
    expect(paid()).toBe(2);
    expect(gateway.output()).not.toContain("shutdown-incomplete");
    const row = expect.objectContaining({ status: 200, images: 1, attempts: 1 });
    expect(readLedger(join(folder.path, "one", "data"))).toEqual([row, row]);
  });

  test("is stored for the Idempotency-Key of a client that has disconnected, and replayed after the restart", async () => {
    const gateway = await start("one");
    const release = Promise.withResolvers<void>();
    fake.script({ until: release.promise });
    await generateAndDisconnect(gateway);
    await drain(gateway);
    release.resolve();
    expect(await gateway.exited).toBe(0);
    const retry = await generate(await start("one"));
    expect(retry.status).toBe(200);
    expect(retry.headers.get("idempotent-replayed")).toBe("true");
    expect(await retry.text()).toContain('"b64_json":"');
    expect(paid()).toBe(1);
  });

  testWith("postgresql", "redis")(
    "is replayed by another replica to a client that has disconnected, and generated once",
    async () => {
      const redis = await startRedis();
      const DATABASE_URL = await (await sharedPostgres()).createDatabase();
      const env = { REDIS_URL: redis.url, DATABASE_URL, VEXEL_SECRET: "k".repeat(32) };
      const [one, two] = [await start("one", env), await start("two", env)];
      const release = Promise.withResolvers<void>();
      fake.script({ until: release.promise });
      await generateAndDisconnect(one);
      const waiting = generate(two).then(read);
      await drain(one);
      release.resolve();
      expect(await one.exited).toBe(0);
      const { status, text } = await waiting;
      expect(status).toBe(200);
      expect(text).toContain('"b64_json":"');
      expect(await read(await generate(two))).toMatchObject({ status: 200, text });
      expect(paid()).toBe(1);
      await redis.stop();
    },
  );

  test("ends at its own timeout", async () => {
    const gateway = await start("one", { VEXEL_IMAGES_TIMEOUT: "4" });
    fake.script({ hang: "headers" });
    const response = generate(gateway).then(read);
    await fake.arrived(1);
    gateway.kill("SIGTERM");
    expect(await response).toMatchObject({ status: 504, shouldRetry: "false" });
    expect(await gateway.exited).toBe(0);
  });
});

describe("an image that a second signal ends", () => {
  test("is not generated again by a retry after the restart, also of a stream and of a client that has disconnected, and the ledger says why it ended", async () => {
    const gateway = await start("one");
    fake.script({ hang: "headers" }, { times: 9 });
    await generateAndDisconnect(gateway, "disconnected");
    const told = [false, true].map((stream) =>
      generate(gateway, { stream, key: `stream: ${stream}` }).then(read),
    );
    await fake.arrived(3);
    await stopAtOnce(gateway);
    fake.clear();
    const [whole, streamed] = await Promise.all(told);
    expect(whole).toMatchObject({ status: 503, code: "shutting_down", shouldRetry: "false" });
    expect(whole?.retryAfter).toBeNull();
    expect(streamed?.code).toBe("shutting_down");
    for (const each of [whole, streamed])
      expect(each?.text).toContain("may have been generated and billed");
    const rows = readLedger(join(folder.path, "one", "data"));
    const row = expect.objectContaining({ status: 503, error: "shutting_down", attempts: 1 });
    expect(rows).toEqual([row, row, row]);

    const restarted = await start("one");
    for (const [key, stream] of [
      ["disconnected", false],
      ["stream: false", false],
      ["stream: true", true],
    ] as const) {
      const retry = await read(await generate(restarted, { key, stream }));
      const refused = { status: 503, code: "storage_unavailable", shouldRetry: "false" };
      expect(retry).toMatchObject(refused);
      expect(retry.text).toContain("Use a new Idempotency-Key to generate them again.");
    }
    expect(paid()).toBe(0);
    for (const { requestId } of rows) {
      const result = `${restarted.url}/v1/images/results/${requestId}`;
      expect((await read(await fetch(result, { headers: bearer }))).text).toContain("billed");
    }

    expect((await generate(restarted, { key: "k2" })).status).toBe(200);
  });

  testWithRedis("is not generated again by a retry on another replica", async () => {
    const redis = await startRedis();
    try {
      const env = { REDIS_URL: redis.url };
      const [one, two] = [await start("one", env), await start("two", env)];
      fake.script({ hang: "headers" }, { times: 9 });
      const first = generate(one).then(read);
      await fake.arrived(1);
      // Waits for the first one.
      const waiting = generate(two).then(read);
      await stopAtOnce(one);
      expect(await first).toMatchObject({ status: 503, code: "shutting_down" });
      expect(await waiting).toMatchObject({ status: 503, shouldRetry: "false" });
      expect(await read(await generate(two))).toMatchObject({ status: 503, shouldRetry: "false" });
      expect(paid()).toBe(1);
    } finally {
      await redis.stop();
    }
  });
});

test("an image request that is queued when the drain times out is not sent, and may be retried", async () => {
  const gateway = await start("one", {
    VEXEL_MAX_IMAGE_REQUESTS: "1",
    VEXEL_METRICS_TOKEN: metricsToken,
  });
  const release = Promise.withResolvers<void>();
  fake.script({ until: release.promise });
  const first = generate(gateway).then(read);
  await fake.arrived(1);
  const queued = generate(gateway, { key: "queued" }).then(read);
  await until(async () => /^vexel_requests_queued 1$/m.test(await metrics(gateway)));
  await drain(gateway);
  release.resolve();
  expect(await first).toMatchObject({ status: 200 });
  expect(await queued).toMatchObject({ status: 503, code: "shutting_down", shouldRetry: null });
  expect(await gateway.exited).toBe(0);
  expect(paid()).toBe(1);
  expect((await generate(await start("one"), { key: "queued" })).status).toBe(200);
});
