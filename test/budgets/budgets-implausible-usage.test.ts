/** Implausible usage of an upstream is dropped and logged, and uses up no budget. */
import { describe, expect, test } from "bun:test";
import {
  dropImplausibleEmbeddingsUsage,
  dropImplausibleImageUsage,
  type ImplausibleUsage,
} from "../../server/pipeline/verify-response.ts";
import type {
  EmbeddingInput,
  GenerationQuery,
  ImageResponse,
} from "../../server/upstream/contract.ts";
import { closeAfterAll } from "../clean-up.ts";
import { arrange } from "../conformance/arrange.ts";
import { imagePart, inputImage } from "../embedding-vendors/input-images.ts";
import { png } from "../http/gateway-fixture.ts";

const implausible = 1_000_000_000_000;
const key = "sk-test-budgeted-0000000";

const upstream = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: async (request) =>
    "input" in ((await request.json()) as object)
      ? Response.json({
          object: "list",
          model: "vectors",
          data: [{ object: "embedding", index: 0, embedding: [0.6, 0.8] }],
          usage: { prompt_tokens: implausible, total_tokens: implausible },
        })
      : Response.json({
          created: 1,
          data: [{ b64_json: Buffer.from(png).toString("base64") }],
          usage: { input_tokens: 5, output_tokens: implausible, total_tokens: implausible + 5 },
        }),
});

const yaml = (): string => `
upstreams:
  - { id: implausible, kind: openai-compatible, baseUrl: "http://127.0.0.1:${upstream.port}/v1", apiKey: sk-fake }
models:
  - { id: vectors, kind: embedding, price: { input: 1 }, targets: [{ upstream: implausible, model: vectors }] }
  - { id: images, kind: image, price: { input: 5, output: 40 }, targets: [{ upstream: implausible, model: images }] }
keys:
  - { name: budgeted, key: ${key}, budget: { month: 5 } }
`;

const setup = arrange({ yaml });
closeAfterAll(setup, upstream);

describe.each([
  ["/v1/embeddings", { model: "vectors", input: "an otter" }, "input tokens"],
  ["/v1/images/generations", { model: "images", prompt: "an otter" }, "tokens"],
])("%s", (path, body, quantity) => {
  test("charges the estimate if the upstream reports a trillion tokens", async () => {
    const response = await setup.gateway.post(path, body, { authorization: `Bearer ${key}` });
    expect(response.status).toBe(200);
    expect(await response.text()).not.toContain(String(implausible));
    const id = response.headers.get("x-request-id");
    const row = setup.gateway.rows().find(({ requestId }) => requestId === id)!;
    expect(row).toMatchObject({ inputTokens: null, outputTokens: null, cost: null });
    expect(row.estimatedCost).toBeGreaterThan(0);
    expect(row.estimatedCost).toBeLessThan(1);
    const line = setup.gateway
      .log()
      .split("\n")
      .find((text) => text.includes('"usage-implausible"') && text.includes(String(id)));
    expect(JSON.parse(line ?? "{}")).toMatchObject({
      level: "warn",
      upstream: "implausible",
      quantity,
    });
  });
});

describe("reported embeddings usage", () => {
  const isAccepted = (input: EmbeddingInput, tokens: number): boolean => {
    const reported: ImplausibleUsage[] = [];
    const response = { vectors: [], usage: { inputTokens: tokens } };
    const checked = dropImplausibleEmbeddingsUsage(response, { input }, (more) =>
      reported.push(more),
    );
    expect(reported).toHaveLength(checked.usage ? 0 : 1);
    return checked.usage !== undefined;
  };
  const texts = (...all: string[]): EmbeddingInput => ({ kind: "text", texts: all });

  const image = (width: number, height: number): EmbeddingInput => ({
    kind: "mixed",
    entries: [{ parts: [{ ...imagePart(png), image: { ...inputImage(png), width, height } }] }],
  });

  test.each<[string, EmbeddingInput, number]>([
    ["a small image that a vendor enlarges", image(1, 1), 4096],
    ["an image of 16 million pixels, at 560 pixels for a token", image(4000, 4000), 28_572],
    ["one letter with a long instruction", texts("a"), 200],
    ["a token per byte", texts("ü".repeat(5000)), 10_002],
    ["characters of four bytes", texts("🦦".repeat(1000)), 4002],
    ["many short texts", texts(...Array.from({ length: 100 }, () => "hm")), 3000],
    [
      "token arrays, counted exactly",
      { kind: "tokens", tokens: [Array.from({ length: 5000 }, () => 1)] },
      5000,
    ],
  ])("is accepted for %s", (_, input, tokens) => expect(isAccepted(input, tokens)).toBe(true));

  test.each<[string, EmbeddingInput, number]>([
    ["a million tokens for one image", image(1000, 1000), 1_000_000],
    ["more than twice a token per byte", texts("a".repeat(1000)), 2257],
    ["a thousand tokens per input token", { kind: "tokens", tokens: [[1, 2, 3]] }, 3000],
    ["a negative count", texts("a"), -1],
    ["an infinite count", texts("a"), Number.POSITIVE_INFINITY],
  ])("is dropped for %s", (_, input, tokens) => expect(isAccepted(input, tokens)).toBe(false));
});

describe("reported image usage", () => {
  const query: GenerationQuery = {
    model: "m",
    prompt: "an otter",
    stream: false,
    options: { n: 2 },
    extraFields: {},
  };
  const image = { kind: "base64", base64: "" } as const;
  const response = (more: object): ImageResponse => ({
    kind: "buffered",
    results: [{ image }, { image }],
    metadata: {},
    ...more,
  });
  const usage = (output: number) => ({
    input_tokens: 5,
    output_tokens: output,
    total_tokens: output + 5,
  });

  test("is accepted up to the documented maximum of any vendor, with its cost", () => {
    const plausible = response({ usage: usage(2 * 47_040), cost: 1.2 });
    expect(dropImplausibleImageUsage(plausible, query, () => expect.unreachable())).toBe(plausible);
  });

  test("is kept although an implausible cost is dropped", () => {
    const reported: ImplausibleUsage[] = [];
    const checked = dropImplausibleImageUsage(
      response({ usage: usage(9), cost: 1e6 }),
      query,
      (more) => reported.push(more),
    );
    expect(reported).toEqual([{ quantity: "cost", reported: 1e6, max: 20 }]);
    expect(checked).toEqual(response({ usage: usage(9) }));
  });

  test("is dropped from a stream if it is implausible", async () => {
    async function* events() {
      yield {
        type: "completed",
        image: { kind: "base64", base64: "" },
        usage: usage(implausible),
      } as const;
    }
    const reported: ImplausibleUsage[] = [];
    const checked = dropImplausibleImageUsage({ kind: "stream", events: events() }, query, (more) =>
      reported.push(more),
    );
    if (checked.kind !== "stream") throw new Error("the response was not a stream");
    expect(await Array.fromAsync(checked.events)).toEqual([
      { type: "completed", image: { kind: "base64", base64: "" } },
    ]);
    expect(reported).toHaveLength(1);
  });
});
