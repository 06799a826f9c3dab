/**
 * An image request that takes longer than the drain is finished, because it is billed. If a second signal ends it, its
 * client and its retries are told that the image may have been billed, and no retry generates it again.
 */
import { describe, expect, test } from "bun:test";
import { type GatewayProcess, readLedger } from "../harness.ts";
import { bearer } from "../http/gateway-fixture.ts";
import { until } from "../until.ts";
import { drain, generate, imageGateways, read, stopAtOnce } from "./drained-images-fixture.ts";

const { fake, dataOf, start, paid, generateAndDisconnect } = imageGateways();

const metricsToken = "token-of-the-metrics";
const metrics = async ({ url }: GatewayProcess): Promise<string> =>
  (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${metricsToken}` } })).text();

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
    expect(readLedger(dataOf("one"))).toEqual([row, row]);
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

  test("ends at its own timeout", async () => {
    const gateway = await start("one", { VEXEL_IMAGES_TIMEOUT: "2" });
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
    const rows = readLedger(dataOf("one"));
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
