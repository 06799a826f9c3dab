/**
 * Rate limits per minute (token bucket): exact counts, OpenAI's error messages and headers, and clients that honor
 * Retry-After.
 */
import { describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { embeddingResponse } from "../embeddings/upstream-response.ts";
import { embedder, imageModel, limitedTests, statuses, tokens } from "./limits-fixture.ts";

const start = limitedTests();

const refusal = async (promise: Promise<unknown>) => {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof OpenAI.RateLimitError)) throw new Error(`not refused: ${error}`);
  return error;
};

describe("a request limit", () => {
  test("admits exactly its number of 50 concurrent requests", async () => {
    const { embed, fake } = start({ keys: { one: "limits: { requestsPerMinute: 10 }" } });
    const counts = await statuses(Array.from({ length: 50 }, () => embed("one")));
    expect(Object.fromEntries(counts)).toEqual({ 200: 10, 429: 40 });
    expect(fake.requests).toHaveLength(10);
  });

  test("refuses the next request with OpenAI's message, and a Retry-After to the millisecond", async () => {
    const { client } = start({ keys: { one: "limits: { requestsPerMinute: 3 }" } });
    const send = () => client().embeddings.create({ model: embedder, input: "a" });
    for (let at = 0; at < 3; at++) await send();
    const error = await refusal(send());
    expect(error.status).toBe(429);
    expect(error.code).toBe("rate_limit_exceeded");
    expect(error.type).toBe("requests");
    expect(error.message).toMatch(
      /^429 Rate limit reached for text-embedding-3-small with the key "one" on requests per min \(RPM\): Limit 3, Used 3, Requested 1\. Please try again in (19\.\d+|20)s\.$/,
    );
    const ms = Number(error.headers.get("retry-after-ms"));
    expect(ms).toBeGreaterThan(15_000);
    expect(ms).toBeLessThanOrEqual(20_000);
    expect(error.headers.get("retry-after")).toBe(String(Math.ceil(ms / 1000)));
    expect(error.headers.get("x-should-retry")).toBeNull();
  });

  test("is not used up by refused requests, which have a ledger row", async () => {
    const { embed, gateway } = start({ keys: { one: "limits: { requestsPerMinute: 1 }" } });
    await statuses([embed("one"), embed("one"), embed("one")]);
    const errors = gateway.rows().map(({ error }) => error);
    expect(errors.toSorted()).toEqual([null, "rate_limited", "rate_limited"].toSorted());
    const ms = (await embed("one")).headers.get("retry-after-ms");
    expect(Number(ms)).toBeLessThanOrEqual(60_000);
  });
});

describe("rate limit headers", () => {
  test("are on every response to a limited key, also if the request failed", async () => {
    const { embed, fake } = start({
      // The buckets refill every 30 seconds: a busy machine does not change what remains.
      keys: { one: "limits: { requestsPerMinute: 2, tokensPerMinute: 2 }" },
    });
    const limitAndRemaining = (response: Response): (string | null)[] =>
      ["limit", "remaining"].flatMap((what) =>
        ["requests", "tokens"].map((of) => response.headers.get(`x-ratelimit-${what}-${of}`)),
      );
    const first = await embed("one", [tokens(1)]);
    expect(first.status).toBe(200);
    expect(limitAndRemaining(first)).toEqual(["2", "2", "1", "1"]);
    expect(first.headers.get("x-ratelimit-reset-requests")).toMatch(/^(2\d(\.\d+)?|30)s$/);
    expect(first.headers.get("x-ratelimit-reset-tokens")).toMatch(/^(2\d(\.\d+)?|30)s$/);
    fake.script({ fail: "forbidden" });
    const failed = await embed("one", [tokens(1)]);
    expect(failed.status).toBe(403);
    expect(limitAndRemaining(failed).slice(0, 3)).toEqual(["2", "2", "0"]);
    const invalid = await embed("one", []);
    expect(invalid.status).toBe(400);
    expect(limitAndRemaining(invalid).slice(0, 3)).toEqual(["2", "2", "0"]);
  });

  test("show the limit of key, project and model with the least remaining", async () => {
    const { embed } = start({
      keys: { one: "project: shared, limits: { requestsPerMinute: 100 }", two: "project: shared" },
      projects: "  - { name: shared, limits: { requestsPerMinute: 20 } }",
      embedderLimits: "requestsPerMinute: 50",
    });
    const first = await embed("one");
    expect(first.headers.get("x-ratelimit-limit-requests")).toBe("20");
    const other = await embed("two");
    expect(other.headers.get("x-ratelimit-remaining-requests")).toBe("18");
  });

  test("are not sent to a key without limits", async () => {
    const { embed } = start({ keys: { one: "limits: { requestsPerMinute: 10 }", free: "" } });
    const { headers } = await embed("free");
    expect([...headers.keys()].filter((name) => name.startsWith("x-ratelimit"))).toEqual([]);
  });
});

describe("a token limit", () => {
  test("is honored by a client that waits and then succeeds", async () => {
    const { client, fake } = start({ keys: { one: "limits: { tokensPerMinute: 6000 }" } });
    await client().embeddings.create({ model: embedder, input: Array(3).fill(tokens(2000)) });
    const began = performance.now();
    const response = await client("one", 2).embeddings.create({
      model: embedder,
      input: tokens(80),
    });
    expect(response.data).toHaveLength(1);
    expect(performance.now() - began).toBeGreaterThan(300);
    expect(fake.requests).toHaveLength(2);
  });

  test("is corrected by the reported usage: excess is charged, unused tokens are refunded at once", async () => {
    const { embed, fake } = start({ keys: { one: "limits: { tokensPerMinute: 1000 }" } });
    const responseWithUsage = (prompt_tokens: number) =>
      embeddingResponse(Array(1536).fill(0.1), { prompt_tokens });
    const remaining = async (): Promise<number> =>
      Number((await embed("one", [])).headers.get("x-ratelimit-remaining-tokens"));
    fake.script(responseWithUsage(5));
    expect((await embed("one", "x".repeat(2000))).status).toBe(200);
    expect(await remaining()).toBeGreaterThanOrEqual(995);
    fake.script(responseWithUsage(1500));
    expect((await embed("one", "y".repeat(1500))).status).toBe(200);
    expect(await remaining()).toBe(0);
    const next = await embed("one", "x");
    expect(next.status).toBe(429);
    expect(Number(next.headers.get("retry-after-ms"))).toBeGreaterThan(25_000);
    expect(((await next.json()) as { error: { type: string } }).error.type).toBe("tokens");
  });

  test("permanently refuses a request above it, as OpenAI does", async () => {
    const { client } = start({ keys: { one: "limits: { tokensPerMinute: 100 }" } });
    const send = client("one", 2).embeddings.create({ model: embedder, input: tokens(101) });
    const error = await refusal(send);
    expect(error.type).toBe("tokens");
    expect(error.message).toContain("Request too large for text-embedding-3-small");
    expect(error.message).toContain("Limit 100, Requested 101.");
    expect(error.headers.get("x-should-retry")).toBe("false");
    expect(error.headers.get("retry-after")).toBeNull();
  });

  test("is not used up by a failed request", async () => {
    const { embed, fake } = start({ keys: { one: "limits: { tokensPerMinute: 1000 }" } });
    fake.script({ fail: "forbidden" });
    const failed = await embed("one", [tokens(900)]);
    expect(failed.status).toBe(403);
    expect(Number(failed.headers.get("x-ratelimit-remaining-tokens"))).toBe(1000);
  });
});

describe("an image limit", () => {
  test("counts each image of a request", async () => {
    const { generate } = start({ keys: { one: "limits: { imagesPerMinute: 4 }" } });
    const first = await generate("one", { n: 3 });
    expect(first.status).toBe(200);
    expect(first.headers.get("x-ratelimit-remaining-images")).toBe("1");
    const second = await generate("one", { n: 2 });
    expect(second.status).toBe(429);
    expect(await second.text()).toContain("on images per min (IPM): Limit 4, Used 3, Requested 2.");
    expect((await generate("one")).status).toBe(200);
  });

  test("is not checked for an n that the model does not support: the request is invalid", async () => {
    const { generate } = start({ keys: { one: "limits: { imagesPerMinute: 10 }" } });
    const many = await generate("one", { n: 50 });
    expect(many.status).toBe(400);
    expect(many.headers.get("x-ratelimit-remaining-images")).toBe("10");
  });

  test("can count megapixels", async () => {
    const { generate } = start({
      keys: { one: "" },
      imageModelLimits: "megapixelsPerMinute: 2.5",
    });
    const first = await generate("one", { size: "1024x1024" });
    expect(first.status).toBe(200);
    expect(first.headers.get("x-ratelimit-limit-megapixels")).toBe("2.5");
    expect(Number(first.headers.get("x-ratelimit-remaining-megapixels"))).toBeCloseTo(1.451, 1);
    const wide = await generate("one", { size: "1536x1024" });
    expect(wide.status).toBe(429);
    expect(await wide.text()).toContain(`for ${imageModel} on megapixels per min: Limit 2.5`);
  });

  test("counts a replayed idempotent response once", async () => {
    const { client } = start({
      keys: { one: "limits: { imagesPerMinute: 2, requestsPerMinute: 9 }" },
    });
    const send = () =>
      client()
        .images.generate(
          { model: imageModel, prompt: "a boat" },
          { headers: { "idempotency-key": "the-same" } },
        )
        .withResponse();
    await send();
    const { response } = await send();
    expect(response.headers.get("idempotent-replayed")).toBe("true");
    expect(response.headers.get("x-ratelimit-remaining-images")).toBe("1");
    expect(response.headers.get("x-ratelimit-remaining-requests")).toBe("8");
  });
});
