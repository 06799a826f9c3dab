/** Limits by the minute: exact counts, OpenAI's words and headers, and clients that wait as they are told. */
import { afterEach, describe, expect, test } from "bun:test";
import OpenAI from "openai";
import {
  embedder,
  type Limited,
  painter,
  startLimited,
  statuses,
  tokens,
} from "./limits-fixture.ts";

let limited: Limited;
const start = (...args: Parameters<typeof startLimited>): Limited => {
  limited = startLimited(...args);
  return limited;
};
afterEach(() => limited.close());

const refusal = async (promise: Promise<unknown>) => {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof OpenAI.RateLimitError)) throw new Error(`not refused: ${error}`);
  return error;
};

describe("requests", () => {
  test("of 50 clients at once exactly as many are let in as the limit says, and no more reach the upstream", async () => {
    const { embed, fake } = start({ keys: { one: "limits: { requestsPerMinute: 10 }" } });
    const counts = await statuses(Array.from({ length: 50 }, () => embed("one")));
    expect(Object.fromEntries(counts)).toEqual({ 200: 10, 429: 40 });
    expect(fake.requests).toHaveLength(10);
  });

  test("the next is refused in OpenAI's words, and told to the millisecond when to come back", async () => {
    const { client } = start({ keys: { one: "limits: { requestsPerMinute: 3 }" } });
    const ask = () => client().embeddings.create({ model: embedder, input: "a" });
    for (let at = 0; at < 3; at++) await ask();
    const error = await refusal(ask());
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

  test("what is refused is in the ledger, and costs no place in the limit", async () => {
    const { embed, gateway } = start({ keys: { one: "limits: { requestsPerMinute: 1 }" } });
    await statuses([embed("one"), embed("one"), embed("one")]);
    const faults = gateway.rows().map(({ error: fault }) => fault);
    expect(faults.toSorted()).toEqual([null, "rate_limited", "rate_limited"].toSorted());
    const ms = (await embed("one")).headers.get("retry-after-ms");
    expect(Number(ms)).toBeLessThanOrEqual(60_000);
  });
});

describe("headers", () => {
  test("every answer to a limited key says how much is left, also one that failed", async () => {
    const { embed, fake } = start({
      keys: { one: "limits: { requestsPerMinute: 10, tokensPerMinute: 1000 }" },
    });
    const left = (response: Response): (string | null)[] =>
      ["limit", "remaining"].flatMap((what) =>
        ["requests", "tokens"].map((of) => response.headers.get(`x-ratelimit-${what}-${of}`)),
      );
    const first = await embed("one", [tokens(100)]);
    expect(first.status).toBe(200);
    expect(left(first)).toEqual(["10", "1000", "9", "900"]);
    expect(first.headers.get("x-ratelimit-reset-requests")).toMatch(/^(5\.\d+|6)s$/);
    expect(first.headers.get("x-ratelimit-reset-tokens")).toMatch(/^(5\.\d+|6)s$/);
    fake.script({ fail: "forbidden" });
    const failed = await embed("one", [tokens(10)]);
    expect(failed.status).toBe(403);
    expect(left(failed).slice(0, 3)).toEqual(["10", "1000", "8"]);
    const wrong = await embed("one", []);
    expect(wrong.status).toBe(400);
    expect(left(wrong).slice(0, 3)).toEqual(["10", "1000", "8"]);
  });

  test("of a key, its project and the model, the one with least left decides", async () => {
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

  test("a key without limits hears nothing of them", async () => {
    const { embed } = start({ keys: { one: "limits: { requestsPerMinute: 10 }", free: "" } });
    const { headers } = await embed("free");
    expect([...headers.keys()].filter((name) => name.startsWith("x-ratelimit"))).toEqual([]);
  });
});

describe("tokens", () => {
  test("a client that is told to wait waits, and is served", async () => {
    const { client, fake } = start({ keys: { one: "limits: { tokensPerMinute: 6000 }" } });
    await client().embeddings.create({ model: embedder, input: Array(3).fill(tokens(2000)) });
    const began = performance.now();
    const answer = await client("one", 2).embeddings.create({ model: embedder, input: tokens(80) });
    expect(answer.data).toHaveLength(1);
    expect(performance.now() - began).toBeGreaterThan(300);
    expect(fake.requests).toHaveLength(2);
  });

  test("more than was guessed is paid back by waiting, and less is given back at once", async () => {
    const { embed, fake } = start({ keys: { one: "limits: { tokensPerMinute: 1000 }" } });
    const used = (count: number) => ({
      reply: {
        status: 200,
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          object: "list",
          model: embedder,
          data: [{ object: "embedding", index: 0, embedding: Array(1536).fill(0.1) }],
          usage: { prompt_tokens: count, total_tokens: count },
        }),
      },
    });
    const remaining = async (): Promise<number> =>
      Number((await embed("one", [])).headers.get("x-ratelimit-remaining-tokens"));
    fake.script(used(5));
    expect((await embed("one", "x".repeat(2000))).status).toBe(200);
    expect(await remaining()).toBeGreaterThanOrEqual(995);
    fake.script(used(1500));
    expect((await embed("one", "y".repeat(1500))).status).toBe(200);
    expect(await remaining()).toBe(0);
    const next = await embed("one", "x");
    expect(next.status).toBe(429);
    expect(Number(next.headers.get("retry-after-ms"))).toBeGreaterThan(25_000);
    expect(((await next.json()) as { error: { type: string } }).error.type).toBe("tokens");
  });

  test("a call that is larger than the limit is refused for good, as OpenAI does", async () => {
    const { client } = start({ keys: { one: "limits: { tokensPerMinute: 100 }" } });
    const ask = client("one", 2).embeddings.create({ model: embedder, input: tokens(101) });
    const error = await refusal(ask);
    expect(error.type).toBe("tokens");
    expect(error.message).toContain("Request too large for text-embedding-3-small");
    expect(error.message).toContain("Limit 100, Requested 101.");
    expect(error.headers.get("x-should-retry")).toBe("false");
    expect(error.headers.get("retry-after")).toBeNull();
  });

  test("a call that failed without being served takes none", async () => {
    const { embed, fake } = start({ keys: { one: "limits: { tokensPerMinute: 1000 }" } });
    fake.script({ fail: "forbidden" });
    const failed = await embed("one", [tokens(900)]);
    expect(failed.status).toBe(403);
    expect(Number(failed.headers.get("x-ratelimit-remaining-tokens"))).toBe(1000);
  });
});

describe("pictures", () => {
  test("are counted one by one, whoever asks for several at a time", async () => {
    const { draw } = start({ keys: { one: "limits: { imagesPerMinute: 4 }" } });
    const first = await draw("one", { n: 3 });
    expect(first.status).toBe(200);
    expect(first.headers.get("x-ratelimit-remaining-images")).toBe("1");
    const second = await draw("one", { n: 2 });
    expect(second.status).toBe(429);
    expect(await second.text()).toContain("on images per min (IPM): Limit 4, Used 3, Requested 2.");
    expect((await draw("one")).status).toBe(200);
  });

  test("more than a model makes is a bad request, and not a matter of limits", async () => {
    const { draw } = start({ keys: { one: "limits: { imagesPerMinute: 10 }" } });
    const many = await draw("one", { n: 50 });
    expect(many.status).toBe(400);
    expect(many.headers.get("x-ratelimit-remaining-images")).toBe("10");
  });

  test("and by their pixels", async () => {
    const { draw } = start({
      keys: { one: "" },
      painterLimits: "megapixelsPerMinute: 2.5",
    });
    const first = await draw("one", { size: "1024x1024" });
    expect(first.status).toBe(200);
    expect(first.headers.get("x-ratelimit-limit-megapixels")).toBe("2.5");
    expect(Number(first.headers.get("x-ratelimit-remaining-megapixels"))).toBeCloseTo(1.451, 1);
    const wide = await draw("one", { size: "1536x1024" });
    expect(wide.status).toBe(429);
    expect(await wide.text()).toContain(`for ${painter} on megapixels per min: Limit 2.5`);
  });

  test("an answer that is given a second time counts once", async () => {
    const { client } = start({
      keys: { one: "limits: { imagesPerMinute: 2, requestsPerMinute: 9 }" },
    });
    const ask = () =>
      client()
        .images.generate(
          { model: painter, prompt: "a boat" },
          { headers: { "idempotency-key": "the-same" } },
        )
        .withResponse();
    await ask();
    const { response } = await ask();
    expect(response.headers.get("idempotent-replayed")).toBe("true");
    expect(response.headers.get("x-ratelimit-remaining-images")).toBe("1");
    expect(response.headers.get("x-ratelimit-remaining-requests")).toBe("8");
  });
});
