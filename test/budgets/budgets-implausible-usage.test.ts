/** Implausible usage of an upstream is dropped and logged, and uses up no budget. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  clampEmbeddingsUsage,
  clampImageUsage,
  type ImplausibleUsage,
} from "../../server/ledger/clamp-reported-usage.ts";
import type {
  EmbeddingInput,
  GenerationQuery,
  ImageResponse,
} from "../../server/upstream/contract.ts";
import { type Arranged, arrange } from "../conformance/arrange.ts";
import { png } from "../http/gateway-fixture.ts";

const lie = 1_000_000_000_000;
const key = "sk-test-believer-0000000";

const upstream = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: async (request) =>
    "input" in ((await request.json()) as object)
      ? Response.json({
          object: "list",
          model: "vectors",
          data: [{ object: "embedding", index: 0, embedding: [0.6, 0.8] }],
          usage: { prompt_tokens: lie, total_tokens: lie },
        })
      : Response.json({
          created: 1,
          data: [{ b64_json: Buffer.from(png).toString("base64") }],
          usage: { input_tokens: 5, output_tokens: lie, total_tokens: lie + 5 },
        }),
});

const yaml = (): string => `
upstreams:
  - { id: liar, kind: openai-compatible, baseUrl: "http://127.0.0.1:${upstream.port}/v1", apiKey: sk-fake }
models:
  - { id: vectors, kind: embedding, price: { input: 1 }, targets: [{ upstream: liar, model: vectors }] }
  - { id: pictures, kind: image, price: { input: 5, output: 40 }, targets: [{ upstream: liar, model: pictures }] }
keys:
  - { name: believer, key: ${key}, budget: { month: 5 } }
`;

let house: Arranged;
beforeAll(() => {
  house = arrange({ yaml });
});
afterAll(() => {
  house.close();
  upstream.stop(true);
});

describe.each([
  ["/v1/embeddings", { model: "vectors", input: "an otter" }, "input tokens"],
  ["/v1/images/generations", { model: "pictures", prompt: "an otter" }, "tokens"],
])("%s", (path, body, what) => {
  test("of a million million tokens the answer counts, and not the number", async () => {
    const response = await house.gateway.post(path, body, { authorization: `Bearer ${key}` });
    expect(response.status).toBe(200);
    expect(await response.text()).not.toContain(String(lie));
    const id = response.headers.get("x-request-id");
    const row = house.gateway.rows().find(({ requestId }) => requestId === id)!;
    expect(row).toMatchObject({ inputTokens: null, outputTokens: null, cost: null });
    expect(row.estimatedCost).toBeGreaterThan(0);
    expect(row.estimatedCost).toBeLessThan(1);
    const line = house.gateway
      .log()
      .split("\n")
      .find((text) => text.includes('"usage-implausible"') && text.includes(String(id)));
    expect(JSON.parse(line ?? "{}")).toMatchObject({ level: "warn", upstream: "liar", what });
  });
});

describe("what is believed of vectors", () => {
  const judge = (input: EmbeddingInput, tokens: number): boolean => {
    const told: ImplausibleUsage[] = [];
    const reply = { vectors: [], usage: { inputTokens: tokens } };
    const seen = clampEmbeddingsUsage(reply, { query: { input } }, (_, more) => told.push(more));
    expect(told).toHaveLength(seen.usage ? 0 : 1);
    return seen.usage !== undefined;
  };
  const texts = (...all: string[]): EmbeddingInput => ({ kind: "text", texts: all });

  test.each<[string, EmbeddingInput, number]>([
    ["a word with a long instruction", texts("a"), 200],
    ["every byte a token", texts("ü".repeat(5000)), 10_002],
    ["signs of four bytes", texts("🦦".repeat(1000)), 4002],
    ["many short texts", texts(...Array.from({ length: 100 }, () => "hm")), 3000],
    ["tokens, counted", { kind: "tokens", tokens: [Array.from({ length: 5000 }, () => 1)] }, 5000],
  ])("%s", (_, input, tokens) => expect(judge(input, tokens)).toBe(true));

  test.each<[string, EmbeddingInput, number]>([
    ["more than every byte could be, twice over", texts("a".repeat(1000)), 2257],
    ["a thousand for each token", { kind: "tokens", tokens: [[1, 2, 3]] }, 3000],
    ["less than nothing", texts("a"), -1],
    ["more than can be counted", texts("a"), Number.POSITIVE_INFINITY],
  ])("not: %s", (_, input, tokens) => expect(judge(input, tokens)).toBe(false));
});

describe("what is believed of pictures", () => {
  const query: GenerationQuery = {
    ...{ model: "m", prompt: "an otter", stream: false, options: { n: 2 }, rest: {} },
  };
  const image = { kind: "base64", base64: "" } as const;
  const reply = (more: object): ImageResponse => ({
    ...{ kind: "whole", results: [{ image }, { image }], metadata: {} },
    ...more,
  });
  const usage = (output: number) => ({
    ...{ input_tokens: 5, output_tokens: output, total_tokens: output + 5 },
  });

  test("the most that any vendor documents, and prices as they are", () => {
    const honest = reply({ usage: usage(2 * 47_040), cost: 1.2 });
    expect(clampImageUsage(honest, query, () => expect.unreachable())).toBe(honest);
  });

  test("not a price of a million, while what else is said stays", () => {
    const told: ImplausibleUsage[] = [];
    const seen = clampImageUsage(reply({ usage: usage(9), cost: 1e6 }), query, (more) =>
      told.push(more),
    );
    expect(told).toEqual([{ what: "cost", reported: 1e6, max: 20 }]);
    expect(seen).toEqual(reply({ usage: usage(9) }));
  });

  test("not in a stream either", async () => {
    async function* events() {
      yield {
        type: "completed",
        image: { kind: "base64", base64: "" },
        usage: usage(lie),
      } as const;
    }
    const told: ImplausibleUsage[] = [];
    const seen = clampImageUsage({ kind: "stream", events: events() }, query, (more) =>
      told.push(more),
    );
    if (seen.kind !== "stream") throw new Error("it was a stream");
    expect(await Array.fromAsync(seen.events)).toEqual([
      { type: "completed", image: { kind: "base64", base64: "" } },
    ]);
    expect(told).toHaveLength(1);
  });
});
