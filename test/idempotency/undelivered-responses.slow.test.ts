/** A billed response that was not delivered can be fetched by its request ID, or claimed by an identical request. */

import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import sharp from "sharp";
import { arrange } from "../conformance/arrange.ts";
import { testKey } from "../harness.ts";
import { until } from "../until.ts";

const { fake, gateway, close } = arrange();
beforeEach(() => fake.clear());
afterAll(() => close());

const headers = { authorization: `Bearer ${testKey}`, "content-type": "application/json" };
const generate = (prompt: string, more: Record<string, string> = {}, signal?: AbortSignal) =>
  fetch(`${gateway.url}/v1/images/generations`, {
    method: "POST",
    headers: { ...headers, ...more },
    body: JSON.stringify({ model: "gpt-image-2", prompt }),
    ...(signal && { signal }),
  });

/** Sends a request and returns a function that disconnects. */
function startRequest(prompt: string, id: string, more: Record<string, string> = {}) {
  const controller = new AbortController();
  const sending = generate(prompt, { "x-client-request-id": id, ...more }, controller.signal);
  const ended = sending.catch(() => "disconnected");
  return async () => {
    controller.abort();
    await ended;
  };
}

const getResult = (id: string) => fetch(`${gateway.url}/v1/images/results/${id}`, { headers });

async function resultOf(id: string): Promise<Response> {
  for (;;) {
    const response = await getResult(id);
    if (response.status !== 202) return response;
    await Bun.sleep(20);
  }
}

/** Waits until the gateway has noticed the disconnect. */
async function untilDetached(id: string): Promise<void> {
  while ((await getResult(id)).status !== 202) await Bun.sleep(5);
}

test("a client that disconnects while it waits for an identical request has a ledger row with client_closed", async () => {
  fake.script({ delayMs: 600 });
  const disconnectFirst = startRequest("waits for another", "first-of-two");
  await until(() => fake.requests.length === 1);
  await Promise.all([disconnectFirst(), untilDetached("first-of-two")]);
  const before = gateway.rows().length;
  const disconnectSecond = startRequest("waits for another", "second-of-two");
  await untilDetached("first-of-two");
  await Bun.sleep(50);
  await disconnectSecond();
  await until(() => gateway.rows().length > before);
  expect(gateway.rows().at(-1)).toMatchObject({ error: "client_closed", bytesOut: 0 });
  expect(gateway.log()).not.toContain('"event":"internal-error"');
  expect((await resultOf("first-of-two")).status).toBe(200);
});

describe("two identical requests whose clients both disconnect", () => {
  test("are each found by their own request ID", async () => {
    fake.script({ delayMs: 400 }, { times: 2 });
    const disconnectFirst = startRequest("two clients", "one");
    const disconnectSecond = startRequest("two clients", "two");
    await until(() => fake.requests.length === 2);
    await Promise.all([
      disconnectFirst(),
      disconnectSecond(),
      untilDetached("one"),
      untilDetached("two"),
    ]);
    const [one, two] = await Promise.all([resultOf("one"), resultOf("two")]);
    expect([one.status, two.status]).toEqual([200, 200]);
    const from = [one, two].map((response) => response.headers.get("vexel-replayed-from"));
    expect(new Set(from).size).toBe(2);
  });

  test("are both replayed to identical requests before new images are generated", async () => {
    fake.script({ delayMs: 400 }, { times: 2 });
    const disconnects = ["three", "four"].map((id) => startRequest("two retries", id));
    await until(() => fake.requests.length === 2);
    await Promise.all([
      ...disconnects.map((disconnect) => disconnect()),
      untilDetached("three"),
      untilDetached("four"),
    ]);
    const retries = [await generate("two retries"), await generate("two retries")];
    const from = retries.map((response) => response.headers.get("vexel-replayed-from"));
    expect(from.every((id) => id?.startsWith("req_"))).toBe(true);
    expect(new Set(from).size).toBe(2);
    expect(fake.requests).toHaveLength(2);
    expect((await generate("two retries")).headers.get("idempotent-replayed")).toBeNull();
  });
});

test("a response that was fetched by its request ID counts as delivered, so an identical request generates a new image", async () => {
  fake.script({ delayMs: 200 });
  const disconnect = startRequest("fetched", "fetched");
  await until(() => fake.requests.length === 1);
  await Promise.all([disconnect(), untilDetached("fetched")]);
  expect((await resultOf("fetched")).status).toBe(200);
  expect((await generate("fetched")).headers.get("idempotent-replayed")).toBeNull();
  expect(fake.requests).toHaveLength(2);
});

test("HEAD does not count as a delivery: an identical request after it gets the response", async () => {
  fake.script({ delayMs: 200 });
  const disconnect = startRequest("polled with HEAD", "polled");
  await until(() => fake.requests.length === 1);
  await Promise.all([disconnect(), untilDetached("polled")]);
  const poll = () => fetch(`${gateway.url}/v1/images/results/polled`, { method: "HEAD", headers });
  let polled = await poll();
  for (; polled.status === 202; polled = await poll()) await Bun.sleep(20);
  expect(polled.status).toBe(200);
  expect((await generate("polled with HEAD")).headers.get("idempotent-replayed")).toBe("true");
  expect(fake.requests).toHaveLength(1);
});

/** An image that is larger than the socket buffers, so that a client can disconnect before its last byte is sent. */
async function largeImageResponse(): Promise<string> {
  const create = { width: 2400, height: 2400, channels: 3, background: "red" } as const;
  const image = await sharp({ create }).png({ compressionLevel: 0 }).toBuffer();
  return JSON.stringify({ created: 1, data: [{ b64_json: image.toString("base64") }] });
}

/** Sends a request and disconnects when the first bytes of the response arrive. Returns them. */
function breakAtFirstBytes(head: string, body: string): Promise<string> {
  const { hostname, port } = new URL(gateway.url);
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = connect(Number(port), hostname);
  socket.on("error", () => undefined);
  socket.once("data", (data) => {
    socket.destroy();
    resolve(data.toString("latin1"));
  });
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(
    `${head} HTTP/1.1\r\nhost: x\r\n${fields.join("")}content-length: ${body.length}\r\n\r\n${body}`,
  );
  return promise;
}

test("a response stays replayable until it was delivered completely: after a replay and a GET that broke", async () => {
  const body = JSON.stringify({ model: "any-image-model", prompt: "breaks often" });
  const post = (signal?: AbortSignal) =>
    fetch(`${gateway.url}/v1/images/generations`, {
      method: "POST",
      headers: { ...headers, "x-client-request-id": "breaks" },
      body,
      ...(signal && { signal }),
    });
  const generated = { status: 200, body: await largeImageResponse() };
  fake.script({ delayMs: 200, response: generated }, { times: 2 });
  const client = new AbortController();
  const first = post(client.signal).catch(() => undefined);
  await until(() => fake.requests.length === 1);
  client.abort();
  await Promise.all([first, untilDetached("breaks")]);
  const replay = await breakAtFirstBytes("POST /v1/images/generations", body);
  expect(replay).toContain("idempotent-replayed: true");
  const fetched = await breakAtFirstBytes("GET /v1/images/results/breaks", "");
  expect(fetched).toStartWith("HTTP/1.1 200");
  // Nothing shows when the gateway has noticed both disconnects.
  await Bun.sleep(500);
  const retry = await post();
  expect(retry.headers.get("idempotent-replayed")).toBe("true");
  expect(await retry.json()).toMatchObject({ data: [{ b64_json: expect.any(String) }] });
  expect(fake.requests).toHaveLength(1);
  // Now it was delivered: the next identical request generates an image of its own.
  expect((await post()).headers.get("idempotent-replayed")).toBeNull();
});

test("a replayed response with missing images has the same vexel-missing header", async () => {
  const key = { "idempotency-key": crypto.randomUUID() };
  const options = () =>
    gateway.post("/v1/images/generations", { model: "gpt-image-2", prompt: "some", n: 3 }, key);
  fake.script({ images: "missing" });
  const first = await options();
  const second = await options();
  expect(first.headers.get("vexel-missing")).toBe("1; error=upstream_invalid");
  expect(second.headers.get("vexel-missing")).toBe("1; error=upstream_invalid");
  expect(second.headers.get("idempotent-replayed")).toBe("true");
  expect(await second.text()).toBe(await first.text());
  expect(fake.requests).toHaveLength(1);
});
