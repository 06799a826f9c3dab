/** A retry after an attempt that may have been billed is charged for both, separately in the ledger. */
import { beforeEach, expect, test } from "bun:test";
import { closeAfterAll } from "../clean-up.ts";
import { startFake } from "../fake-upstream.ts";
import { startGateway } from "../harness.ts";

const keyOf = (name: string): string => `sk-test-${name.padEnd(20, "0")}`;

const [failing, healthy] = [startFake(), startFake()];
const targets = (model: string) =>
  `[{ upstream: failing, model: ${model}, tier: 0 }, { upstream: healthy, model: ${model}, tier: 1 }]`;
const gateway = startGateway({
  yaml: `
upstreams:
  - { id: failing, kind: openai, baseUrl: "${failing.url}", apiKey: sk-fake }
  - { id: healthy, kind: openai, baseUrl: "${healthy.url}", apiKey: sk-fake }
models:
  - { id: reckless, kind: image, retryPaid: true, price: { image: 1 }, targets: ${targets("gpt-image-2")} }
  - { id: vectors, kind: embedding, cache: false, batch: false, price: { input: 1000 }, targets: ${targets("text-embedding-3-small")} }
keys:
  - { name: four, key: ${keyOf("four")}, budget: { total: 4 } }
  - { name: words, key: ${keyOf("words")}, budget: { total: 100 } }
`,
});
closeAfterAll(gateway, failing, healthy);
beforeEach(() => {
  failing.clear();
  healthy.clear();
  gateway.resetTargets();
});

const generate = () =>
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

test("an image that was requested twice is charged twice, so a budget for four images admits two such requests", async () => {
  failing.script({ reset: "before-headers" }, { times: Infinity });
  for (let request = 0; request < 2; request++) {
    expect((await generate()).status).toBe(200);
    // The known cost, and the estimate of the attempt that may have been billed.
    expect(lastRow()).toMatchObject({ attempts: 2, cost: 1, estimatedCost: 1 });
  }
  const refused = await generate();
  expect(refused.status).toBe(429);
  const { error } = (await refused.json()) as { error: { budget: object } };
  expect(error.budget).toMatchObject({ spent: 4, reserved: 0 });
});

test("an embeddings request that is retried after a broken connection is charged for both attempts", async () => {
  failing.script({ reset: "before-headers" });
  expect((await embed()).status).toBe(200);
  const row = lastRow();
  expect(row?.cost).toBeGreaterThan(0);
  expect(row?.estimatedCost).toBeCloseTo(0.002, 12);
});

test("a retry after a rate limit error is charged for the successful attempt only", async () => {
  failing.script({ fail: "rate-limit" });
  expect((await embed()).status).toBe(200);
  expect(lastRow()).toMatchObject({ attempts: 2, estimatedCost: null });
});
