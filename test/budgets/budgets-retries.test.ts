/** A retry after an attempt that may have been billed is charged for both, separately in the ledger. */
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { type Fake, startFake } from "../fake-upstream.ts";
import { startGateway, type TestGateway } from "../harness.ts";

const keyOf = (name: string): string => `sk-test-${name.padEnd(20, "0")}`;

let [breaks, draws]: Fake[] = [];
let gateway: TestGateway;
beforeAll(() => {
  [breaks, draws] = [startFake(), startFake()];
  const targets = (model: string) =>
    `[{ upstream: breaks, model: ${model}, tier: 0 }, { upstream: draws, model: ${model}, tier: 1 }]`;
  gateway = startGateway({
    yaml: `
upstreams:
  - { id: breaks, kind: openai, baseUrl: "${breaks.url}", apiKey: sk-fake }
  - { id: draws, kind: openai, baseUrl: "${draws.url}", apiKey: sk-fake }
models:
  - { id: reckless, kind: image, retryPaid: true, price: { image: 1 }, targets: ${targets("gpt-image-2")} }
  - { id: vectors, kind: embedding, cache: false, batch: false, price: { input: 1000 }, targets: ${targets("text-embedding-3-small")} }
keys:
  - { name: four, key: ${keyOf("four")}, budget: { total: 4 } }
  - { name: words, key: ${keyOf("words")}, budget: { total: 100 } }
`,
  });
});
beforeEach(() => {
  breaks?.clear();
  draws?.clear();
  gateway.resetTargets();
});
afterAll(async () => {
  await gateway.close();
  breaks?.close();
  draws?.close();
});

const draw = () =>
  gateway.post(
    "/v1/images/generations",
    { model: "reckless", prompt: "an otter" },
    { authorization: `Bearer ${keyOf("four")}` },
  );
const embed = () =>
  gateway.post(
    "/v1/embeddings",
    { model: "vectors", input: "eight ch" },
    { authorization: `Bearer ${keyOf("words")}` },
  );
const lastRow = () => gateway.rows().at(-1);

test("two orders for one picture count twice, and a budget for four pictures ends after two calls", async () => {
  breaks?.script({ reset: "before-headers" }, { times: Infinity });
  for (let call = 0; call < 2; call++) {
    expect((await draw()).status).toBe(200);
    // What is known, and what may have been paid besides.
    expect(lastRow()).toMatchObject({ attempts: 2, cost: 1, estimatedCost: 1 });
  }
  const refused = await draw();
  expect(refused.status).toBe(429);
  const { error } = (await refused.json()) as { error: { budget: object } };
  expect(error.budget).toMatchObject({ spent: 4, reserved: 0 });
});

test("vectors that were asked for again after a broken connection count for both", async () => {
  breaks?.script({ reset: "before-headers" });
  expect((await embed()).status).toBe(200);
  const row = lastRow();
  expect(row?.cost).toBeGreaterThan(0);
  expect(row?.estimatedCost).toBeCloseTo(0.002, 12);
});

test("after a refusal that costs nothing, only what was made counts", async () => {
  breaks?.script({ fail: "rate-limit" });
  expect((await embed()).status).toBe(200);
  expect(lastRow()).toMatchObject({ attempts: 2, estimatedCost: null });
});
