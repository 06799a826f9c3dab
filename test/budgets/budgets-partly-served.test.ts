/** A request that fails after a part of it was served is charged for that part: in the ledger, budgets and limits. */
import { afterAll, expect, test } from "bun:test";
import { startGateway, testKey } from "../harness.ts";

const tokensPerInput = 10;
const price = 1000;
const dollars = (tokens: number): number => (tokens * price) / 1_000_000;

interface EmbeddingsBody {
  readonly input: string | readonly string[];
}

/** Inputs that were served, by the order of their requests. */
const served: string[][] = [];
const held = new Map<string, PromiseWithResolvers<void>>();

const upstream = Bun.serve({
  port: 0,
  fetch: async (request) => {
    const { input } = (await request.json()) as EmbeddingsBody;
    const inputs = typeof input === "string" ? [input] : [...input];
    for (const each of inputs) await held.get(each)?.promise;
    if (inputs.some((each) => each.startsWith("BAD"))) {
      return Response.json({ error: { message: "a bad input" } }, { status: 400 });
    }
    served.push(inputs);
    const tokens = inputs.length * tokensPerInput;
    return Response.json({
      data: inputs.map((_, index) => ({ index, embedding: [1, index] })),
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    });
  },
});

const gateway = startGateway({
  settings: { VEXEL_MAX_INPUTS: "4096", VEXEL_CACHE_BYTES: "1000000" },
  yaml: `
upstreams:
  - { id: fake, kind: openai, baseUrl: "http://127.0.0.1:${upstream.port}", apiKey: sk-fake }
models:
  - { id: m, kind: embedding, batch: false, price: { input: ${price} }, targets: [{ upstream: fake, model: my-model }] }
keys:
  - { name: test, key: ${testKey}, budget: { total: 1000 }, limits: { tokensPerMinute: 100000 } }
`,
});
afterAll(async () => {
  await gateway.close();
  await upstream.stop(true);
});

const embed = (input: readonly string[]): Promise<Response> =>
  gateway.post("/v1/embeddings", { model: "m", input });

async function rowOf(response: Response) {
  await response.text();
  const row = gateway
    .rows()
    .find((each) => each.requestId === response.headers.get("x-request-id"));
  if (!row) throw new Error("the request has no row");
  return row;
}

test("a split request is charged for its sub-requests that were served", async () => {
  const bad = Promise.withResolvers<void>();
  held.set("BAD split", bad);
  const texts = Array.from({ length: 2049 }, (_, at) => `text ${at}`);
  const sending = embed([...texts.slice(0, 2048), "BAD split"]);
  while (served.length === 0) await Bun.sleep(1);
  // The response of the first sub-request reaches the gateway before or after the second one fails. In the first case
  // it counts as served, in the second as canceled.
  await Bun.sleep(100);
  bad.resolve();
  const response = await sending;
  expect(response.status).toBe(400);
  const row = await rowOf(response);
  const cost = row.cost! + (row.estimatedCost ?? 0);
  expect(cost).toBeGreaterThan(0);
  if (row.upstreamTokens) {
    const tokens = served.flat().length * tokensPerInput;
    expect([row.upstreamTokens, row.inputTokens, cost]).toEqual([tokens, tokens, dollars(tokens)]);
    const remaining = Number(response.headers.get("x-ratelimit-remaining-tokens"));
    expect(remaining).toBeLessThanOrEqual(100_000 - tokens / 2);
  }
});

test("a request is charged for its own inputs when an input that it waited for is refused", async () => {
  const bad = Promise.withResolvers<void>();
  held.set("BAD shared", bad);
  const first = embed(["BAD shared"]);
  while (gateway.inFlight() === 0) await Bun.sleep(1);
  await Bun.sleep(50);
  served.length = 0;
  const second = embed(["BAD shared", "own"]);
  while (served.length === 0) await Bun.sleep(1);
  bad.resolve();
  expect([(await first).status, (await second).status]).toEqual([400, 400]);
  expect((await rowOf(await second)).cost).toBe(dollars(tokensPerInput));
});
