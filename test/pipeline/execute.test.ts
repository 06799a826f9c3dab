/**
 * Requests without HTTP through the stages of a gateway: they have the limits, budgets, response memory and ledger rows
 * of HTTP requests, and release everything when their signal aborts.
 */
import { expect, test } from "bun:test";
import { embeddingsEndpoint } from "../../server/api/embeddings.ts";
import { countedTokens } from "../../server/embeddings/embedding-usage.ts";
import type { EmbeddingsQuery, GenerationQuery } from "../../server/upstream/contract.ts";
import { startFake } from "../fake-upstream.ts";
import { startGateway, testKey } from "../harness.ts";
import { until } from "../until.ts";

const texts = Array.from({ length: 8 }, (_, at) => `text ${at}`);
const query: EmbeddingsQuery = {
  model: "vectors",
  input: { kind: "text", texts },
  single: false,
  encoding: "base64",
  extraFields: {},
};
const imageQuery: GenerationQuery = {
  model: "images",
  prompt: "a red boat",
  stream: false,
  options: { n: 2 },
  extraFields: {},
};

/** `key`: limits and budgets. The response memory has space for one large response at a time. */
function open(key = "") {
  const fake = startFake();
  const gateway = startGateway({
    yaml: `
upstreams: [{ id: fake, kind: openai, baseUrl: "${fake.url}", apiKey: sk-fake }]
models:
  - { id: vectors, kind: embedding, price: { input: 1000 }, targets: [{ upstream: fake, model: text-embedding-3-small }] }
  - { id: images, kind: image, price: { image: 0.01 }, targets: [{ upstream: fake, model: gpt-image-1.5 }] }
keys: [{ name: test, key: ${testKey}${key} }]
`,
    settings: { VEXEL_RESPONSE_MEMORY_BYTES: "1024" },
  });
  let executed = 0;
  const common = (signal = new AbortController().signal) => ({
    requestId: `req_${executed++}`,
    caller: gateway.caller(),
    priority: "batch" as const,
    signal,
  });
  const embed = (signal?: AbortSignal) =>
    gateway.execute({
      ...common(signal),
      query,
      endpoint: embeddingsEndpoint({ maxInputs: 2048 }),
      send: gateway.send.embeddings,
      usageOf: (response) => ({ inputTokens: countedTokens(response) ?? 0 }),
      use: async ({ vectors }) => vectors.length,
    });
  const generate = (signal?: AbortSignal) =>
    gateway.execute({
      ...common(signal),
      query: imageQuery,
      endpoint: { operation: "generations", kind: "image" },
      send: gateway.send.generations,
      usageOf: (response) =>
        response.kind === "buffered" ? { images: response.results.length } : undefined,
      use: async (response) => (response.kind === "buffered" ? response.results.length : 0),
    });
  const dispose = async () => {
    await gateway.close();
    fake.close();
  };
  return { gateway, fake, embed, generate, [Symbol.asyncDispose]: dispose };
}

const errors = (gateway: ReturnType<typeof startGateway>) =>
  gateway.rows().map(({ error }) => error);

test("an image generation without HTTP is in the ledger with its images and cost", async () => {
  await using opened = open();
  expect(await opened.generate()).toBe(2);
  expect(opened.gateway.rows()).toEqual([
    expect.objectContaining({ endpoint: "generations", status: 200, images: 2, cost: 0.02 }),
  ]);
  expect(opened.gateway.inFlight()).toBe(0);
});

test.each([
  [", limits: { requestsPerMinute: 1 }", "rate_limited"],
  [", budget: { total: 0.03 }", "over_budget"],
])("image generations without HTTP count toward %s of their key", async (limit, kind) => {
  await using opened = open(limit);
  const outcomes: unknown[] = [];
  while (outcomes.length < 4) outcomes.push(await opened.generate().catch((error) => error));
  expect(outcomes[0]).toBe(2);
  expect(outcomes[3]).toMatchObject({ kind });
  expect(errors(opened.gateway)).toContain(kind);
  expect(opened.gateway.inFlight()).toBe(0);
});

test("a large embeddings response without HTTP waits for response memory, which an abort releases", async () => {
  await using opened = open();
  const { gateway, fake, embed } = opened;
  fake.script({ hang: "headers" });
  const abort = new AbortController();
  const first = embed(abort.signal).catch((error) => error);
  await fake.arrived(1);
  const second = embed();
  await Bun.sleep(50);
  expect(fake.requests).toHaveLength(1);
  abort.abort();
  expect(await first).toMatchObject({ kind: "client_closed" });
  expect(await second).toBe(8);
  expect(errors(gateway)).toEqual(["client_closed", null]);
  expect(gateway.inFlight()).toBe(0);
});

test("the abort of an image generation without HTTP ends its upstream request and releases its slot", async () => {
  await using opened = open(", limits: { concurrent: 1 }");
  const { gateway, fake, generate } = opened;
  fake.script({ hang: "headers" });
  const abort = new AbortController();
  const aborted = generate(abort.signal).catch((error) => error);
  await fake.arrived(1);
  abort.abort();
  expect(await aborted).toMatchObject({ kind: "client_closed" });
  await until(() => fake.requests[0]!.aborted);
  expect(gateway.inFlight()).toBe(0);
  expect(await generate()).toBe(2);
  expect(errors(gateway)).toEqual(["client_closed", null]);
});
