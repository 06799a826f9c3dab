/** LangChain as the client: its JavaScript package, and the requests of its Python package. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { OpenAIEmbeddings } from "@langchain/openai";
import { fakeVector } from "../fake-upstream.ts";
import { testKey } from "../harness.ts";
import { arrange, bitsOf, refusalOf } from "./arrange.ts";

const { fake, gateway, close } = arrange();
beforeEach(() => fake.clear());
afterAll(close);

const langchain = (more: object = {}): OpenAIEmbeddings =>
  new OpenAIEmbeddings({
    model: "text-embedding-3-small",
    apiKey: testKey,
    maxRetries: 0,
    configuration: { baseURL: gateway.baseURL },
    ...more,
  });

describe("LangChain", () => {
  test("embeds a query", async () => {
    const vector = await langchain().embedQuery("what is\nan otter?");
    expect(bitsOf(vector)).toBe(bitsOf(fakeVector("what is an otter?", 1536)));
  });

  test("embeds documents in order, over several requests", async () => {
    const documents = Array.from({ length: 25 }, (_, i) => `document ${i}`);
    const vectors = await langchain({ batchSize: 10 }).embedDocuments(documents);
    expect(vectors.map(bitsOf)).toEqual(documents.map((text) => bitsOf(fakeVector(text, 1536))));
    expect(fake.requests).toHaveLength(3);
  });

  test("gets vectors of its dimensions, in its encoding", async () => {
    const vector = await langchain({ dimensions: 64, encodingFormat: "float" }).embedQuery("short");
    expect(bitsOf(vector)).toBe(bitsOf(fakeVector("short", 64)));
  });

  test("gets the same errors as from OpenAI", async () => {
    fake.script({ fail: "quota" });
    const error = await refusalOf(langchain().embedQuery("a"), Error);
    expect(error).toMatchObject({ status: 429, code: "insufficient_quota" });
  });
});

describe("LangChain for Python", () => {
  /** As `openai` 3 sends what `langchain_openai` gives it, header for header. */
  const fromPython = (input: unknown): Promise<Response> =>
    gateway.post(
      "/v1/embeddings",
      { input, model: "text-embedding-ada-002", encoding_format: "base64" },
      {
        accept: "application/json",
        "accept-encoding": "gzip, deflate, br, zstd",
        "user-agent": "OpenAI/Python 3.22.1",
        "x-stainless-lang": "python",
        "x-stainless-package-version": "3.22.1",
        "x-stainless-async": "false",
        "x-stainless-retry-count": "0",
        "x-stainless-read-timeout": "600",
        "x-stainless-raw-response": "true",
      },
    );
  /** Decodes base64 as numpy does in Python. */
  const decoded = (base64: string): string => Buffer.from(base64, "base64").toString("hex");

  test("sends tokens instead of texts, and gets the vectors of these tokens", async () => {
    // "hello world" and "an otter" in cl100k_base.
    const input = [
      [15339, 1917],
      [276, 14479, 466],
    ];
    const response = await fromPython(input);
    expect(response.status).toBe(200);
    const responseBody = (await response.json()) as {
      data: { embedding: string; index: number }[];
    };
    expect(responseBody.data.map(({ embedding }) => decoded(embedding))).toEqual(
      input.map((tokens) => bitsOf(fakeVector(tokens, 1536))),
    );
    expect(fake.requests[0]!.json).toEqual({
      input,
      model: "text-embedding-ada-002",
      encoding_format: "base64",
    });
  });

  test("sends a thousand chunks of tokens at once", async () => {
    const input = Array.from({ length: 1000 }, (_, i) => [i + 1, i + 2, i + 3]);
    const response = await fromPython(input);
    const responseBody = (await response.json()) as { data: { embedding: string }[] };
    expect(responseBody.data).toHaveLength(1000);
    expect(decoded(responseBody.data[999]!.embedding)).toBe(
      bitsOf(fakeVector([1000, 1001, 1002], 1536)),
    );
  });
});
