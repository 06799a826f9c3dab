/** Idempotency keys: an image is not billed twice for a retry with the same key or after a client disconnect. */

import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { arrange, grayImage } from "../conformance/arrange.ts";
import { testKey } from "../harness.ts";
import { until } from "../until.ts";

const { fake, gateway, close } = arrange();
beforeEach(() => fake.clear());
afterAll(() => close());

const body = (prompt: string, more = {}) => ({ model: "gpt-image-2", prompt, ...more });
const generate = (prompt: string, headers: Record<string, string> = {}, more = {}) =>
  gateway.post("/v1/images/generations", body(prompt, more), headers);
const newKey = () => ({ "idempotency-key": crypto.randomUUID() });
const authorization = { authorization: `Bearer ${testKey}` };

/** Sends a request, and disconnects when the upstream has received it. */
async function disconnect(prompt: string, more: object = {}, headers = {}): Promise<string> {
  const controller = new AbortController();
  const before = fake.requests.length;
  const sending = fetch(`${gateway.url}/v1/images/generations`, {
    method: "POST",
    headers: { ...authorization, "content-type": "application/json", ...headers },
    body: JSON.stringify(body(prompt, more)),
    signal: controller.signal,
  });
  sending.catch(() => "disconnected");
  await until(() => fake.requests.length > before);
  controller.abort();
  await sending.catch(() => "disconnected");
  return prompt;
}

describe("the same Idempotency-Key", () => {
  test("replays the same response, byte for byte, with one upstream request", async () => {
    const headers = newKey();
    const first = await generate("an otter", headers);
    const second = await generate("an otter", headers);
    expect(second.status).toBe(200);
    expect(await second.text()).toBe(await first.text());
    expect(fake.requests).toHaveLength(1);
    expect(second.headers.get("idempotent-replayed")).toBe("true");
    expect(second.headers.get("vexel-replayed-from")).toBe(first.headers.get("x-request-id"));
    expect(first.headers.get("idempotent-replayed")).toBeNull();
  });

  test("replays the same stream, event by event", async () => {
    const headers = newKey();
    const more = { stream: true, partial_images: 2 };
    const first = await (await generate("an otter", headers, more)).text();
    const second = await generate("an otter", headers, more);
    expect(second.headers.get("content-type")).toContain("text/event-stream");
    expect(await second.text()).toBe(first);
    expect(first).toContain("image_generation.completed");
    expect(fake.requests).toHaveLength(1);
  });

  test("lets concurrent duplicates wait for the first, and all get the same response", async () => {
    const headers = newKey();
    fake.script({ delayMs: 300 });
    const responses = await Promise.all([1, 2, 3, 4].map(() => generate("duplicates", headers)));
    const texts = await Promise.all(responses.map((response) => response.text()));
    expect(new Set(texts).size).toBe(1);
    expect(fake.requests).toHaveLength(1);
  });

  test("is refused for a different request, whether the first has ended or not", async () => {
    const headers = newKey();
    fake.script({ delayMs: 200 });
    const first = generate("an otter", headers);
    await until(() => fake.requests.length === 1);
    const early = await generate("a boat", headers);
    expect((await first).status).toBe(200);
    const late = await generate("an otter", headers, { size: "1536x1024" });
    for (const response of [early, late]) {
      expect(response.status).toBe(409);
      const { error } = (await response.json()) as { error: { code: string; message: string } };
      expect(error.code).toBe("idempotency_mismatch");
      expect(error.message).toContain("Use a new key");
    }
    expect(fake.requests).toHaveLength(1);
  });

  test("ignores the order of the fields", async () => {
    const headers = newKey();
    await generate("an otter", headers, { size: "1024x1024", quality: "low" });
    const again = await gateway.post(
      "/v1/images/generations",
      { quality: "low", prompt: "an otter", size: "1024x1024", model: "gpt-image-2" },
      headers,
    );
    expect(again.status).toBe(200);
    expect(fake.requests).toHaveLength(1);
  });

  test("can be used again after the request failed", async () => {
    const headers = newKey();
    fake.script({ response: { status: 500, body: "{}" } });
    expect((await generate("an otter", headers)).status).toBe(502);
    expect((await generate("an otter", headers)).status).toBe(200);
    expect(fake.requests).toHaveLength(2);
  });

  test("tells edits apart by the bytes of their files", async () => {
    const headers = newKey();
    const edit = (prompt: string) => {
      const form = new FormData();
      form.set("model", "gpt-image-2");
      form.set("prompt", "add a hat");
      form.set("image", new Blob([grayImage(prompt)]), "a.png");
      return fetch(`${gateway.url}/v1/images/edits`, {
        method: "POST",
        headers: { ...authorization, ...headers },
        body: form,
      });
    };
    expect((await edit("one")).status).toBe(200);
    expect((await edit("one")).headers.get("idempotent-replayed")).toBe("true");
    expect((await edit("two")).status).toBe(409);
    expect(fake.requests).toHaveLength(1);
  });

  test("must not be blank or longer than 255 characters", async () => {
    for (const bad of [" ", "x".repeat(256)]) {
      const response = await generate("an otter", { "idempotency-key": bad });
      expect(response.status).toBe(400);
      const { error } = (await response.json()) as { error: { param: string } };
      expect(error.param).toBe("Idempotency-Key");
    }
    expect(fake.requests).toHaveLength(0);
  });

  test("has a ledger row of its own without usage", async () => {
    const headers = newKey();
    await generate("an otter", headers);
    await (await generate("an otter", headers)).text();
    const row = gateway.rows().at(-1);
    expect(row).toMatchObject({ status: 200, attempts: 0, images: null, outputTokens: null });
    expect(row?.steps).toContain("replayed: req_");
  });
});

describe("a client that disconnected", () => {
  test("gets the image with an identical request, and it is billed once", async () => {
    fake.script({ delayMs: 300 });
    const prompt = await disconnect("disconnected early");
    const response = await generate(prompt);
    expect(response.status).toBe(200);
    expect(response.headers.get("vexel-replayed-from")).toStartWith("req_");
    expect(fake.requests).toHaveLength(1);
    // An undelivered response is replayed once: a third request generates a new image.
    const third = await generate(prompt);
    expect(third.headers.get("idempotent-replayed")).toBeNull();
    expect(fake.requests).toHaveLength(2);
  });

  test("has the usage in the ledger", async () => {
    fake.script({ delayMs: 200 });
    const before = gateway.rows().length;
    await disconnect("disconnected and billed");
    await until(() => gateway.rows().length > before);
    const row = gateway.rows().at(-1);
    expect(row).toMatchObject({ status: 499, error: "client_closed", images: 1 });
    expect(row?.outputTokens).toBeGreaterThan(0);
    expect(fake.requests[0]?.aborted).toBe(false);
  });

  test("finds the response by its x-client-request-id, and gets 202 while it is in progress", async () => {
    fake.script({ delayMs: 400 });
    const id = `client-${crypto.randomUUID()}`;
    await disconnect("by id", {}, { "x-client-request-id": id });
    const get = () => fetch(`${gateway.url}/v1/images/results/${id}`, { headers: authorization });
    let response = await get();
    for (let tries = 0; response.status === 202 && tries < 100; tries++) {
      expect(response.headers.get("retry-after")).toBe("2");
      await Bun.sleep(20);
      response = await get();
    }
    expect(response.status).toBe(200);
    const { data } = (await response.json()) as { data: { b64_json: string }[] };
    expect(data[0]?.b64_json.length).toBeGreaterThan(100);
  });

  test("from a stream gets all its events with an identical request", async () => {
    fake.script({ eventDelayMs: 100 });
    const prompt = await disconnect("a stream", { stream: true, partial_images: 1 });
    const text = await (await generate(prompt, {}, { stream: true, partial_images: 1 })).text();
    expect(text).toContain("image_generation.completed");
    expect(fake.requests).toHaveLength(1);
  });

  test("gets 404 for an unknown request ID, and 401 without an API key", async () => {
    const response = await fetch(`${gateway.url}/v1/images/results/req_unknown`, {
      headers: authorization,
    });
    expect(response.status).toBe(404);
    const { error } = (await response.json()) as { error: { code: string } };
    expect(error.code).toBe("result_not_found");
    const stranger = await fetch(`${gateway.url}/v1/images/results/req_unknown`);
    expect(stranger.status).toBe(401);
  });
});
