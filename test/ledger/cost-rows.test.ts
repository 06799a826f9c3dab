/** The ledger row has the cost of each request: by the price list, by the configuration, and null if it is unknown. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import type { LedgerRow } from "../../server/storage/ports/ledger-row.ts";
import { arrange } from "../conformance/arrange.ts";
import { fakeTokens } from "../fake-upstream.ts";
import { testKey } from "../harness.ts";
import { bearer, editForm, png } from "../http/gateway-fixture.ts";

/** xAI reports the cost of a request itself: two cents. */
const grok = Bun.serve({
  port: 0,
  fetch: () =>
    Response.json({
      data: [{ b64_json: Buffer.from(png).toString("base64") }],
      usage: { cost_in_usd_ticks: 200_000_000 },
    }),
});

const { fake, gateway, close } = arrange({
  settings: { VEXEL_CACHE_BYTES: "1000000" },
  yaml: (url) => `
upstreams:
  - { id: fake, kind: openai, baseUrl: "${url}", apiKey: sk-fake }
  - { id: own, kind: openai-compatible, baseUrl: "${url}", apiKey: sk-fake }
  - { id: grok, kind: xai, baseUrl: "${grok.url}v1", apiKey: sk-fake }
models:
  - { id: small, kind: embedding, targets: [{ upstream: fake, model: text-embedding-3-small }] }
  - { id: ours, kind: embedding, price: { input: 2 }, targets: [{ upstream: fake, model: text-embedding-3-large }] }
  - { id: theirs, kind: embedding, targets: [{ upstream: own, model: text-embedding-3-small }] }
  - id: either
    kind: embedding
    cache: false
    targets:
      - { upstream: own, model: text-embedding-3-small, price: { input: 1 } }
      - { upstream: fake, model: text-embedding-3-small, tier: 1 }
  - { id: gpt-image-1.5, kind: image, targets: [{ upstream: fake, model: gpt-image-1.5 }] }
  - { id: gpt-image-1-mini, kind: image, targets: [{ upstream: fake, model: gpt-image-1-mini }] }
  - { id: dall-e-3, kind: image, targets: [{ upstream: fake, model: dall-e-3 }] }
  - { id: unpriced, kind: image, targets: [{ upstream: own, model: gpt-image-1.5 }] }
  - { id: flat, kind: image, price: { image: 0.04 }, targets: [{ upstream: fake, model: gpt-image-1.5 }] }
  - { id: by-size, kind: image, price: { images: { "high 1024x1024": 0.17 } }, targets: [{ upstream: own, model: gpt-image-1.5 }] }
  - { id: by-pixel, kind: image, price: { megapixel: 0.01 }, targets: [{ upstream: own, model: gpt-image-1.5 }] }
  - { id: by-token, kind: image, price: { input: 5, imageInput: 10, output: 40 }, targets: [{ upstream: own, model: gpt-image-1.5 }] }
  - { id: grok, kind: image, price: { image: 9 }, targets: [{ upstream: grok, model: grok-imagine-image }] }
keys:
  - { name: test, key: ${testKey} }
`,
});
beforeEach(() => fake.clear());
afterAll(async () => {
  await close();
  await grok.stop(true);
});

async function rowOf(response: Response): Promise<LedgerRow> {
  await response.text();
  const id = response.headers.get("x-request-id");
  const row = gateway.rows().find(({ requestId }) => requestId === id);
  if (!row) throw new Error(`no row for ${id}`);
  return row;
}
const embed = async (model: string, input: unknown) =>
  rowOf(await gateway.post("/v1/embeddings", { model, input }));
const generate = async (model: string, more: object = {}, headers = {}) =>
  rowOf(
    await gateway.post("/v1/images/generations", { model, prompt: "an otter", ...more }, headers),
  );

describe("the cost of an embeddings request", () => {
  test("is what the upstream counted, and nothing for cached inputs", async () => {
    const text = "a boat in the harbour";
    expect((await embed("small", text)).cost).toBe((fakeTokens(text) * 0.02) / 1e6);
    expect(await embed("small", text)).toMatchObject({ cost: 0, cachedInputs: 1 });
    const half = await embed("small", [text, "another boat"]);
    expect(half.cost).toBe((fakeTokens("another boat") * 0.02) / 1e6);
  });

  test("follows the price in the configuration", async () => {
    expect((await embed("ours", "a mill")).cost).toBe((fakeTokens("a mill") * 2) / 1e6);
  });

  test("is unknown without a price or without reported usage", async () => {
    expect(await embed("theirs", "a tower")).toMatchObject({ status: 200, cost: null });
    fake.script({ usage: "absent" });
    expect(await embed("small", "a lighthouse")).toMatchObject({ status: 200, cost: null });
  });

  test("follows the price of the target that responded", async () => {
    expect((await embed("either", "a ship")).cost).toBe(fakeTokens("a ship") / 1e6);
    fake.script({ fail: "rate-limit" });
    const second = await embed("either", ["a ship", "a sail"]);
    expect(second).toMatchObject({ upstream: "fake", attempts: 2 });
    expect(second.cost).toBe(((fakeTokens("a ship") + fakeTokens("a sail")) * 0.02) / 1e6);
  });

  test("is unknown if the request failed", async () => {
    fake.script({ fail: "rate-limit" });
    expect(await embed("small", "a wreck")).toMatchObject({ status: 429, cost: null });
  });
});

/** The list price of gpt-image-1.5. */
const tokenCost = ({ inputTokens, outputTokens }: LedgerRow, inPrice = 5, outPrice = 32): number =>
  ((inputTokens ?? Number.NaN) * inPrice + (outputTokens ?? Number.NaN) * outPrice) / 1e6;

describe("the cost of an image request", () => {
  test("is the sum of its tokens, each kind at its price", async () => {
    const row = await generate("gpt-image-1.5", { n: 2, quality: "low" });
    expect(row).toMatchObject({ images: 2, outputTokens: 544 });
    expect(row.cost).toBeCloseTo(tokenCost(row), 12);
  });

  test("is the same for a stream", async () => {
    const row = await generate("gpt-image-1.5", {
      stream: true,
      partial_images: 1,
      quality: "low",
    });
    expect(row).toMatchObject({ status: 200, images: 1 });
    expect(row.cost).toBeCloseTo(tokenCost(row), 12);
  });

  test("includes the input images of an edit", async () => {
    const body = editForm(png, "gpt-image-1.5");
    const url = `${gateway.url}/v1/images/edits`;
    const row = await rowOf(await fetch(url, { method: "POST", headers: bearer, body }));
    const inputImage = (194 * (8 - 5)) / 1e6;
    expect(row.cost).toBeCloseTo(tokenCost(row) + inputImage, 12);
  });

  test.each<[object, number]>([
    [{}, 0.04],
    [{ size: "1792x1024" }, 0.08],
    [{ quality: "hd", size: "1024x1024" }, 0.08],
    [{ quality: "hd", size: "1024x1792", response_format: "b64_json" }, 0.12],
    [{ quality: "high", size: "1024x1792", response_format: "url" }, 0.12],
    [{ n: 3, quality: "standard" }, 0.12],
  ])("for dall-e-3 with %p is %p", async (options, dollars) => {
    const row = await generate("dall-e-3", options);
    expect(row.status).toBe(200);
    expect(row.cost).toBeCloseTo(dollars, 12);
  });

  test("covers the images that were generated if others failed", async () => {
    fake.script({ fail: "rate-limit" });
    expect(await generate("dall-e-3", { n: 3 })).toMatchObject({ images: 2, cost: 0.08 });
  });

  test("is unknown without a price or without reported usage", async () => {
    expect(await generate("unpriced")).toMatchObject({ status: 200, images: 1, cost: null });
    fake.script({ usage: "absent" });
    expect(await generate("gpt-image-1.5")).toMatchObject({ status: 200, images: 1, cost: null });
  });

  test("is unknown if no image was generated", async () => {
    fake.script({ fail: "server-error" });
    expect((await generate("gpt-image-1.5")).cost).toBeNull();
    fake.script({ stream: "error" });
    const broken = await generate("gpt-image-1.5", { stream: true, partial_images: 1 });
    expect(broken).toMatchObject({ status: 502, cost: null });
  });

  test("is what the vendor reports, whatever the configured price, also for a stream", async () => {
    expect(await generate("grok")).toMatchObject({ status: 200, cost: 0.02 });
    expect(await generate("grok", { stream: true })).toMatchObject({ status: 200, cost: 0.02 });
  });

  test("is zero for a replayed idempotent response", async () => {
    const key = { "idempotency-key": crypto.randomUUID() };
    const first = await generate("gpt-image-1.5", { quality: "low" }, key);
    expect(first.cost).toBeGreaterThan(0);
    expect(await generate("gpt-image-1.5", { quality: "low" }, key)).toMatchObject({ cost: 0 });
    expect(fake.requests).toHaveLength(1);
  });

  test("follows the price in the configuration: per image, by quality and size, by pixels, by tokens", async () => {
    expect((await generate("flat", { n: 2 })).cost).toBe(0.08);
    const options = { quality: "high", size: "1024x1024" };
    expect((await generate("by-size", options)).cost).toBe(0.17);
    expect((await generate("by-size", { ...options, quality: "low" })).cost).toBeNull();
    expect((await generate("by-pixel", options)).cost).toBeCloseTo(0.01048576, 12);
    const row = await generate("by-token", options);
    expect(row.cost).toBeCloseTo(tokenCost(row, 5, 40), 12);
  });
});
