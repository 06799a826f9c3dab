/** The header `vexel-cost`. */
import { afterAll, expect, test } from "bun:test";
import { startFake } from "../fake-upstream.ts";
import { startGateway, testKey } from "../harness.ts";

const billingKey = "sk-billing-0123456789";
const fake = startFake();
const gateway = startGateway({
  settings: { VEXEL_CACHE_BYTES: "1000000" },
  yaml: `
upstreams:
  - { id: fake, kind: openai, baseUrl: "${fake.url}", apiKey: sk-fake }
models:
  - { id: shown, kind: embedding, showCost: true, price: { input: 0.02 }, targets: [{ upstream: fake, model: text-embedding-3-small }] }
  - { id: hidden, kind: embedding, price: { input: 0.02 }, targets: [{ upstream: fake, model: text-embedding-3-small }] }
  - { id: drawn, kind: image, showCost: true, price: { image: 0.5 }, targets: [{ upstream: fake, model: gpt-image-2 }] }
keys:
  - { name: test, key: ${testKey} }
  - { name: billing, key: ${billingKey}, showCost: true }
`,
});
afterAll(async () => {
  await gateway.close();
  fake.close();
});

const embed = (model: string, input: string) => gateway.post("/v1/embeddings", { model, input });

test("has the cost of the ledger row, without an exponent, and 0 for a cached input", async () => {
  const first = await embed("shown", "a red boat");
  const cost = first.headers.get("vexel-cost");
  expect(cost).toMatch(/^0\.0000000\d+$/);
  expect(Number(cost)).toBeCloseTo(gateway.rows().at(-1)!.cost!, 12);
  expect((await embed("shown", "a red boat")).headers.get("vexel-cost")).toBe("0");
});

test("is absent for a model that does not show its cost, and for an error", async () => {
  expect((await embed("hidden", "a text")).headers.has("vexel-cost")).toBe(false);
  expect((await embed("shown", "")).headers.has("vexel-cost")).toBe(false);
});

test("is in every response to an API key with showCost, whatever the model says", async () => {
  const headers = { authorization: `Bearer ${billingKey}` };
  const body = { model: "hidden", input: "a green boat" };
  const response = await gateway.post("/v1/embeddings", body, headers);
  expect(Number(response.headers.get("vexel-cost"))).toBeGreaterThan(0);
});

test("has the cost of images, 0 for a replay, and is absent in a stream", async () => {
  const draw = (more: object = {}) =>
    gateway.post(
      "/v1/images/generations",
      { model: "drawn", prompt: "an otter", n: 2, ...more },
      { "idempotency-key": `key-${JSON.stringify(more)}` },
    );
  expect((await draw()).headers.get("vexel-cost")).toBe("1");
  const replayed = await draw();
  expect(replayed.headers.get("idempotent-replayed")).toBe("true");
  expect(replayed.headers.get("vexel-cost")).toBe("0");
  const stream = await draw({ stream: true, n: 1 });
  await stream.text();
  expect(stream.headers.has("vexel-cost")).toBe(false);
});
