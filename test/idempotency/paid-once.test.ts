/** A picture that was paid for is not paid for twice: the same key, a retry, a caller who left. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { arrange, drawn, until } from "../conformance/arrange.ts";
import { testKey } from "../harness.ts";

const { fake, gateway, close } = arrange();
beforeEach(() => fake.clear());
afterAll(() => close());

const body = (prompt: string, more = {}) => ({ model: "gpt-image-2", prompt, ...more });
const draw = (prompt: string, headers: Record<string, string> = {}, more = {}) =>
  gateway.post("/v1/images/generations", body(prompt, more), headers);
const key = () => ({ "idempotency-key": crypto.randomUUID() });
const authorization = { authorization: `Bearer ${testKey}` };

/** Asks, and hangs up when the upstream has the question. */
async function leave(prompt: string, more: object = {}, headers = {}): Promise<string> {
  const controller = new AbortController();
  const before = fake.requests.length;
  const asking = fetch(`${gateway.url}/v1/images/generations`, {
    method: "POST",
    headers: { ...authorization, "content-type": "application/json", ...headers },
    body: JSON.stringify(body(prompt, more)),
    signal: controller.signal,
  });
  asking.catch(() => "we hung up ourselves");
  await until(() => fake.requests.length > before);
  controller.abort();
  await asking.catch(() => "we hung up ourselves");
  return prompt;
}

describe("the same Idempotency-Key", () => {
  test("gives the same answer, byte for byte, and asks the upstream once", async () => {
    const headers = key();
    const first = await draw("an otter", headers);
    const second = await draw("an otter", headers);
    expect(second.status).toBe(200);
    expect(await second.text()).toBe(await first.text());
    expect(fake.requests).toHaveLength(1);
    expect(second.headers.get("idempotent-replayed")).toBe("true");
    expect(second.headers.get("vexel-replayed-from")).toBe(first.headers.get("x-request-id"));
    expect(first.headers.get("idempotent-replayed")).toBeNull();
  });

  test("gives the same stream, event by event", async () => {
    const headers = key();
    const more = { stream: true, partial_images: 2 };
    const first = await (await draw("an otter", headers, more)).text();
    const second = await draw("an otter", headers, more);
    expect(second.headers.get("content-type")).toContain("text/event-stream");
    expect(await second.text()).toBe(first);
    expect(first).toContain("image_generation.completed");
    expect(fake.requests).toHaveLength(1);
  });

  test("lets a twin wait for the first, and both have the same answer", async () => {
    const headers = key();
    fake.script({ delayMs: 300 });
    const answers = await Promise.all([1, 2, 3, 4].map(() => draw("twins", headers)));
    const texts = await Promise.all(answers.map((answer) => answer.text()));
    expect(new Set(texts).size).toBe(1);
    expect(fake.requests).toHaveLength(1);
  });

  test("is refused with another question, whether the first is over or not", async () => {
    const headers = key();
    fake.script({ delayMs: 200 });
    const first = draw("an otter", headers);
    await until(() => fake.requests.length === 1);
    const early = await draw("a boat", headers);
    expect((await first).status).toBe(200);
    const late = await draw("an otter", headers, { size: "1536x1024" });
    for (const answer of [early, late]) {
      expect(answer.status).toBe(409);
      const { error } = (await answer.json()) as { error: { code: string; message: string } };
      expect(error.code).toBe("idempotency_mismatch");
      expect(error.message).toContain("Use a new key");
    }
    expect(fake.requests).toHaveLength(1);
  });

  test("does not mind in which order the fields came", async () => {
    const headers = key();
    await draw("an otter", headers, { size: "1024x1024", quality: "low" });
    const again = await gateway.post(
      "/v1/images/generations",
      { quality: "low", prompt: "an otter", size: "1024x1024", model: "gpt-image-2" },
      headers,
    );
    expect(again.status).toBe(200);
    expect(fake.requests).toHaveLength(1);
  });

  test("of a call that failed is free for the next try", async () => {
    const headers = key();
    fake.script({ reply: { status: 500, body: "{}" } });
    expect((await draw("an otter", headers)).status).toBe(502);
    expect((await draw("an otter", headers)).status).toBe(200);
    expect(fake.requests).toHaveLength(2);
  });

  test("tells edits apart by the bytes of their files", async () => {
    const headers = key();
    const edit = (words: string) => {
      const form = new FormData();
      form.set("model", "gpt-image-2");
      form.set("prompt", "add a hat");
      form.set("image", new Blob([drawn(words)]), "a.png");
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

  test("must be one that can be told apart", async () => {
    for (const bad of [" ", "x".repeat(256)]) {
      const answer = await draw("an otter", { "idempotency-key": bad });
      expect(answer.status).toBe(400);
      const { error } = (await answer.json()) as { error: { param: string } };
      expect(error.param).toBe("Idempotency-Key");
    }
    expect(fake.requests).toHaveLength(0);
  });

  test("has its row in the ledger, and nothing used in it", async () => {
    const headers = key();
    await draw("an otter", headers);
    await (await draw("an otter", headers)).text();
    const row = gateway.rows().at(-1);
    expect(row).toMatchObject({ status: 200, attempts: 0, images: null, outputTokens: null });
    expect(row?.steps).toContain("replayed: req_");
  });
});

describe("a caller who left", () => {
  test("gets the picture with the same question again, and it was paid for once", async () => {
    fake.script({ delayMs: 300 });
    const prompt = await leave("left early");
    const answer = await draw(prompt);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("vexel-replayed-from")).toStartWith("req_");
    expect(fake.requests).toHaveLength(1);
    // Handed over once: who asks a third time wants a new picture.
    const third = await draw(prompt);
    expect(third.headers.get("idempotent-replayed")).toBeNull();
    expect(fake.requests).toHaveLength(2);
  });

  test("has the usage in the ledger", async () => {
    fake.script({ delayMs: 200 });
    const before = gateway.rows().length;
    await leave("left and counted");
    await until(() => gateway.rows().length > before);
    const row = gateway.rows().at(-1);
    expect(row).toMatchObject({ status: 499, error: "client_closed", images: 1 });
    expect(row?.outputTokens).toBeGreaterThan(0);
    expect(fake.requests[0]?.aborted).toBe(false);
  });

  test("finds the answer by the id they gave the call, and hears while it is under way", async () => {
    fake.script({ delayMs: 400 });
    const id = `client-${crypto.randomUUID()}`;
    await leave("by id", {}, { "x-client-request-id": id });
    const get = () => fetch(`${gateway.url}/v1/images/results/${id}`, { headers: authorization });
    let answer = await get();
    for (let tries = 0; answer.status === 202 && tries < 100; tries++) {
      expect(answer.headers.get("retry-after")).toBe("2");
      await Bun.sleep(20);
      answer = await get();
    }
    expect(answer.status).toBe(200);
    const { data } = (await answer.json()) as { data: { b64_json: string }[] };
    expect(data[0]?.b64_json.length).toBeGreaterThan(100);
  });

  test("of a stream finds all its events", async () => {
    fake.script({ eventDelayMs: 100 });
    const prompt = await leave("a stream", { stream: true, partial_images: 1 });
    const text = await (await draw(prompt, {}, { stream: true, partial_images: 1 })).text();
    expect(text).toContain("image_generation.completed");
    expect(fake.requests).toHaveLength(1);
  });

  test("is not answered with another key's picture", async () => {
    const answer = await fetch(`${gateway.url}/v1/images/results/req_unknown`, {
      headers: authorization,
    });
    expect(answer.status).toBe(404);
    const { error } = (await answer.json()) as { error: { code: string } };
    expect(error.code).toBe("result_not_found");
    const stranger = await fetch(`${gateway.url}/v1/images/results/req_unknown`);
    expect(stranger.status).toBe(401);
  });
});
