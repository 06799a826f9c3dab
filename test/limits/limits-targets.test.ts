/** Limits of upstreams and targets: a target at its limit is skipped in target selection. */
import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { base64Of, grayImage } from "../conformance/arrange.ts";
import { embeddingResponse, jsonResponse } from "../embeddings/upstream-response.ts";
import { startFake } from "../fake-upstream.ts";
import { startGateway, type TestGateway, testKey } from "../harness.ts";
import { maxConcurrent, statuses, times } from "./limits-fixture.ts";

const [first, second] = [startFake(), startFake()];
let gateway: TestGateway;
afterEach(async () => {
  await gateway.close();
  first.clear();
  second.clear();
});
afterAll(() => {
  first.close();
  second.close();
});

/** Two upstreams; model `small` prefers the first. */
function start(limits: string, { upstream = "", settings = {} } = {}): TestGateway {
  gateway = startGateway({
    yaml: `
upstreams:
  - { id: first, kind: openai, baseUrl: "${first.url}", apiKey: sk-fake${upstream} }
  - { id: second, kind: openai, baseUrl: "${second.url}", apiKey: sk-fake }
models:
  - id: small
    kind: embedding
    targets:
      - { upstream: first, model: text-embedding-3-small, tier: 0, limits: { ${limits} } }
      - { upstream: second, model: text-embedding-3-small, tier: 1 }
  - id: pair
    kind: embedding
    targets:
      - { upstream: first, model: text-embedding-3-small, limits: { ${limits} } }
      - { upstream: second, model: text-embedding-3-small }
  - { id: alone, kind: embedding, targets: [{ upstream: first, model: text-embedding-3-small, limits: { ${limits} } }] }
  - { id: sibling, kind: embedding, targets: [{ upstream: first, model: text-embedding-3-small }] }
  - id: image-model
    kind: image
    targets:
      - { upstream: first, model: gpt-image-2, limits: { ${limits} } }
      - { upstream: second, model: gpt-image-2 }
keys:
  - { name: test, key: ${testKey} }
`,
    settings: { VEXEL_BATCH_WAIT_MS: "0", ...settings },
  });
  return gateway;
}

const embed = (model: string, input: unknown = "a red boat") =>
  gateway.post("/v1/embeddings", { model, input });
const generate = (more: object = {}) =>
  gateway.post("/v1/images/generations", { model: "image-model", prompt: "a red boat", ...more });

describe("a target at its limit", () => {
  test("is skipped, and every request succeeds at the next target", async () => {
    start("requestsPerMinute: 3");
    const counts = await statuses(times(10, () => embed("small")));
    expect(Object.fromEntries(counts)).toEqual({ 200: 10 });
    expect(first.requests).toHaveLength(3);
    expect(second.requests).toHaveLength(7);
  });

  test("is skipped for images too, which are counted before they are generated", async () => {
    start("imagesPerMinute: 3");
    for (let at = 0; at < 3; at++) expect((await generate({ n: 2 })).status).toBe(200);
    expect(first.requests).toHaveLength(1);
    expect(second.requests).toHaveLength(2);
  });

  test("refuses with Retry-After if it is the only one", async () => {
    start("requestsPerMinute: 3");
    const counts = await statuses(times(5, () => embed("alone")));
    expect(Object.fromEntries(counts)).toEqual({ 200: 3, 429: 2 });
    const refused = await embed("alone");
    expect(refused.status).toBe(429);
    const ms = Number(refused.headers.get("retry-after-ms"));
    expect(ms).toBeGreaterThan(15_000);
    expect(ms).toBeLessThanOrEqual(20_000);
    const text = await refused.text();
    expect(text).toContain("rate_limit_exceeded");
    expect(text).not.toContain("first");
  });

  test("is used again as soon as its limit allows", async () => {
    start("requestsPerMinute: 240");
    await statuses(times(240, (at) => embed("alone", `${at}`)));
    const refused = await embed("alone");
    if (refused.status === 429) {
      await Bun.sleep(Number(refused.headers.get("retry-after-ms")));
      expect((await embed("alone")).status).toBe(200);
    }
    expect(first.requests.length).toBeGreaterThanOrEqual(240);
  });

  test("gets back the unused part of a failed request", async () => {
    start("tokensPerMinute: 1000");
    first.script({ fail: "forbidden" }, { times: Infinity });
    for (let at = 0; at < 5; at++)
      expect((await embed("alone", [Array(900).fill(1)])).status).toBe(403);
  });
});

describe("an upstream that reports implausible usage", () => {
  const implausible = 50_000_000;

  test("uses up none of its token limit with embeddings", async () => {
    start("tokensPerMinute: 1000");
    const usage = { prompt_tokens: implausible };
    first.script(embeddingResponse(Array(1536).fill(0.02), usage), { times: Infinity });
    for (let at = 0; at < 5; at++) expect((await embed("alone")).status).toBe(200);
  });

  test("uses up none of its token limit with images", async () => {
    start("tokensPerMinute: 1000");
    const usage = { input_tokens: 5, output_tokens: implausible, total_tokens: implausible + 5 };
    const data = [{ b64_json: base64Of(grayImage("an otter")) }];
    first.script(jsonResponse({ created: 1, data, usage }), { times: Infinity });
    second.script({ fail: "forbidden" }, { times: Infinity });
    for (let at = 0; at < 3; at++) expect((await generate()).status).toBe(200);
    expect(first.requests).toHaveLength(3);
  });
});

describe("a limit of an upstream", () => {
  test("covers all its models together", async () => {
    start("requestsPerMinute: 100", { upstream: ", limits: { requestsPerMinute: 4 }" });
    const counts = await statuses(times(8, (at) => embed(at % 2 === 0 ? "alone" : "sibling")));
    expect(Object.fromEntries(counts)).toEqual({ 200: 4, 429: 4 });
  });

  test("on concurrency sends excess requests to another target if there is one", async () => {
    start("concurrent: 2");
    first.script({ delayMs: 100 }, { times: Infinity });
    second.script({ delayMs: 100 }, { times: Infinity });
    const counts = await statuses(times(6, (at) => embed("pair", `text ${at}`)));
    expect(Object.fromEntries(counts)).toEqual({ 200: 6 });
    expect(maxConcurrent(first.requests)).toBeLessThanOrEqual(2);
    expect(second.requests.length).toBeGreaterThan(0);
  });
});
