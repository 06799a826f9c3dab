/** The built-in embedding model with common clients: no vendor account, real vectors. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { OpenAIEmbeddings } from "@langchain/openai";
import { encode } from "gpt-tokenizer/encoding/cl100k_base";
import reference from "../data/minilm/reference.json";
import { startGateway, testKey } from "../harness.ts";
import { bitsOf, clientOf } from "./arrange.ts";

// The first request starts the model's process, which takes a while on a busy machine.
setDefaultTimeout(60_000);

const gateway = startGateway({
  yaml: `keys:\n  - { name: test, key: ${testKey} }\n`,
  settings: { VEXEL_CACHE_BYTES: "8000000" },
});
const client = clientOf(gateway);
afterAll(() => gateway.close());

const model = "all-minilm-l6-v2";
const known = reference.sentences.filter(({ tokens }) => tokens <= reference.maxTokens).slice(0, 8);
const texts = known.map(({ text }) => text);

const uncached = { headers: { "cache-control": "no-store" } };

function cosine(vector: readonly number[], base64: string): number {
  const bytes = Buffer.from(base64, "base64");
  const expected = Float32Array.from({ length: bytes.length / 4 }, (_, i) =>
    bytes.readFloatLE(i * 4),
  );
  expect(vector).toHaveLength(expected.length);
  const dot = expected.reduce((sum, number, i) => sum + number * vector[i]!, 0);
  return dot / (Math.hypot(...vector) * Math.hypot(...expected));
}

/** LangChain's own client, sending tokens as LangChain for Python does (`check_embedding_ctx_length`, its default). */
class TokenSendingEmbeddings extends OpenAIEmbeddings {
  async embedTokens(documents: readonly string[]): Promise<number[][]> {
    const input = documents.map((text) => encode(text));
    const { data } = await this.embeddingWithRetry({ model: this.model, input });
    return data.map(({ embedding }) => embedding);
  }
}

describe("the built-in model", () => {
  test("gives LangChain the same vectors for tokens as for their texts", async () => {
    const configuration = { baseURL: gateway.baseURL };
    const langchain = new TokenSendingEmbeddings({ model, apiKey: testKey, configuration });
    const documents = ["an otter", "お誕生日おめでとう 👋", ...texts];
    const fromTokens = await langchain.embedTokens(documents);
    expect(fromTokens.map(bitsOf)).toEqual((await langchain.embedDocuments(documents)).map(bitsOf));
    const response = await gateway.post("/v1/embeddings", { model, input: [encode("an otter")] });
    expect(response.headers.get("vexel-adapted")).toBe("input");
  });

  test("names the fields that it ignores, from the model and from the cache", async () => {
    const send = (more: object) =>
      gateway.post("/v1/embeddings", { model, input: "an otter that is named", ...more });
    for (const _ of ["model", "cache"]) {
      const response = await send({ truncate: true, late: 1, "ü\r\nset-cookie: a": 2 });
      expect(response.status).toBe(200);
      expect(response.headers.get("vexel-dropped")).toStartWith("late, ");
      expect(response.headers.get("set-cookie")).toBeNull();
    }
    expect((await send({ truncate: true })).headers.get("vexel-dropped")).toBeNull();
    expect((await send({})).headers.get("vexel-dropped")).toBeNull();
  });

  test("counts a cached input like the input alone, also if a list of inputs cached it", async () => {
    const varied = ["a", "日本語のとても長い文章です。", `otter ${"river ".repeat(100)}`, "größer"];
    const alone: number[] = [];
    for (const input of varied) {
      const { usage } = await client.embeddings.create({ model, input }, uncached);
      alone.push(usage.prompt_tokens);
    }
    const { usage } = await client.embeddings.create({ model, input: varied });
    expect(usage.prompt_tokens).toBe(alone.reduce((sum, tokens) => sum + tokens, 0));
    for (const [at, input] of varied.entries()) {
      const cached = await client.embeddings.create({ model, input });
      expect(cached.usage.prompt_tokens).toBe(alone[at]!);
      expect(gateway.rows().at(-1)).toMatchObject({ cachedInputs: 1 });
    }
  });

  test("gives the official client the canonical vectors, in order", async () => {
    const response = await client.embeddings.create({ model, input: texts }, uncached);
    expect(response.model).toBe(model);
    expect(response.data.map(({ index }) => index)).toEqual(texts.map((_, i) => i));
    for (const [at, { embedding }] of response.data.entries()) {
      expect(cosine(embedding, known[at]!.vector)).toBeGreaterThan(0.999);
    }
    const tokens = known.reduce((sum, { tokens }) => sum + tokens, 0);
    expect(response.usage).toEqual({ prompt_tokens: tokens, total_tokens: tokens });
    expect(gateway.rows().at(-1)).toMatchObject({
      model,
      status: 200,
      inputTokens: tokens,
      upstream: "vexel-minilm",
    });
  });
});
