/** The ledger has the cost that an embeddings upstream reports, also for split requests and cached inputs. */
import { beforeEach, expect, test } from "bun:test";
import { closeAfterAll } from "../clean-up.ts";
import { startGateway } from "../harness.ts";

/** `usage.cost` of the next responses. The token price of the catalog or the configuration would give another sum. */
let costPerToken: number | undefined;
/** Inputs of the upstream requests. */
let received: string[][] = [];
beforeEach(() => {
  costPerToken = 3e-6;
  received = [];
});

const tokensOf = (texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + text.length, 0);

const upstream = Bun.serve({
  port: 0,
  fetch: async (request) => {
    const { input } = (await request.json()) as { input: string | string[] };
    const texts = [input].flat();
    received.push(texts);
    const tokens = tokensOf(texts);
    const data = texts.map((_, index) => ({ object: "embedding", index, embedding: [1, 2, 3] }));
    const cost = costPerToken === undefined ? {} : { cost: tokens * costPerToken };
    const details = { prompt_tokens_details: { text_tokens: tokens, image_tokens: 0 } };
    const usage = { prompt_tokens: tokens, total_tokens: tokens, ...details, ...cost };
    return Response.json({ object: "list", data, model: "m", id: "gen-1", usage });
  },
});
const baseUrl = `http://127.0.0.1:${upstream.port}`;

const gateway = startGateway({
  settings: { VEXEL_CACHE_BYTES: "1000000", VEXEL_MAX_INPUTS: "5000" },
  yaml: `
upstreams:
  - { id: openrouter, kind: openrouter, baseUrl: "${baseUrl}", apiKey: k }
  - { id: other, kind: openai-compatible, baseUrl: "${baseUrl}", apiKey: k }
models:
  - { id: m, kind: embedding, price: { input: 1 }, targets: [{ upstream: openrouter, model: org/in-house }] }
  - { id: unpriced, kind: embedding, targets: [{ upstream: openrouter, model: org/in-house-2 }] }
  - { id: other, kind: embedding, price: { input: 1 }, targets: [{ upstream: other, model: in-house }] }
keys:
  - { name: test, key: sk-test-0123456789abcdef }
`,
});
closeAfterAll(gateway, upstream);

const embed = async (input: string | string[], model = "m"): Promise<void> => {
  const response = await gateway.post("/v1/embeddings", { model, input });
  await response.arrayBuffer();
  expect(response.status).toBe(200);
};
const lastCost = () => gateway.rows().at(-1)?.cost;

test("the cost in the ledger is the one that OpenRouter reports, not the price times the tokens", async () => {
  await embed("a red boat");
  expect(lastCost()).toBeCloseTo(10 * 3e-6, 12);
  await embed("a red boat", "unpriced");
  expect(lastCost()).toBeCloseTo(10 * 3e-6, 12);
});

test("without a reported cost, or with one that is no number, the price counts", async () => {
  costPerToken = undefined;
  await embed("a blue boat");
  expect(lastCost()).toBeCloseTo(11 * 1e-6, 12);
  costPerToken = -1;
  await embed("a gray boat");
  expect(lastCost()).toBeCloseTo(11 * 1e-6, 12);
});

test("a cost that is too high to be true is discarded, and the log says so", async () => {
  costPerToken = 1;
  await embed("a gold boat");
  expect(lastCost()).toBeCloseTo(11 * 1e-6, 12);
  expect(gateway.log()).toContain('"usage-implausible"');
});

test("an upstream whose cost may be in another unit is not believed", async () => {
  await embed("a red boat", "other");
  expect(lastCost()).toBeCloseTo(10 * 1e-6, 12);
});

test("cached inputs cost nothing, and a split request costs the sum of its parts", async () => {
  const texts = Array.from({ length: 3000 }, (_, at) => `boat ${at}`);
  await embed(texts);
  expect(received.length).toBeGreaterThan(1);
  expect(lastCost()).toBeCloseTo(tokensOf(texts) * 3e-6, 9);
  await embed(["a first boat", "a second boat"]);
  await embed(["a first boat", "a new boat", "a second boat"]);
  expect(lastCost()).toBeCloseTo(10 * 3e-6, 12);
  await embed(["a second boat", "a first boat"]);
  expect(lastCost()).toBe(0);
});
