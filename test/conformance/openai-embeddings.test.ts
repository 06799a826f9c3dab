/** Embeddings with the official SDK, exact to the last bit. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { fakeTokens, fakeVector } from "../fake-upstream.ts";
import { testKey } from "../harness.ts";
import { arrange, bitsOf } from "./arrange.ts";

const { fake, gateway, client, close } = arrange();
beforeEach(() => fake.clear());
afterAll(close);

const model = "text-embedding-3-small";
const sent = () => fake.requests[0]?.json as Record<string, unknown>;

describe("the official client's embeddings", () => {
  test("are exact by default, which is base64 on the wire", async () => {
    const response = await client.embeddings.create({ model, input: "hello" });
    expect(bitsOf(response.data[0]!.embedding)).toBe(bitsOf(fakeVector("hello", 1536)));
    expect(response.object).toBe("list");
    expect(response.model).toBe(model);
    expect(response.data.map(({ index, object }) => [index, object])).toEqual([[0, "embedding"]]);
    const tokens = fakeTokens("hello");
    expect(response.usage).toEqual({ prompt_tokens: tokens, total_tokens: tokens });
  });

  test("are exact numbers with encoding_format float", async () => {
    const response = await client.embeddings.create({
      model,
      input: "hello",
      encoding_format: "float",
    });
    const { embedding } = response.data[0]!;
    expect(Array.isArray(embedding)).toBe(true);
    expect(bitsOf(embedding)).toBe(bitsOf(fakeVector("hello", 1536)));
  });

  test("are base64 text with encoding_format base64", async () => {
    const response = await client.embeddings.create({
      model,
      input: "hi",
      encoding_format: "base64",
    });
    const embedding = response.data[0]!.embedding as unknown as string;
    expect(embedding).toBe(Buffer.from(fakeVector("hi", 1536).buffer).toString("base64"));
  });

  test("are requested from the upstream in base64 for every encoding_format", async () => {
    await client.embeddings.create({ model, input: "a", encoding_format: "float" });
    await client.embeddings.create({ model, input: "a" });
    expect(fake.requests.map(({ json }) => json)).toEqual([
      { model, input: "a", encoding_format: "base64" },
      { model, input: "a", encoding_format: "base64" },
    ]);
  });

  test("have the length of `dimensions`", async () => {
    const response = await client.embeddings.create({ model, input: "short", dimensions: 256 });
    expect(bitsOf(response.data[0]!.embedding)).toBe(bitsOf(fakeVector("short", 256)));
    expect(sent()).toMatchObject({ dimensions: 256 });
  });

  test("keep the order of several texts", async () => {
    const input = ["one", "two", "three", "two", "😀 four"];
    const response = await client.embeddings.create({ model, input });
    expect(response.data.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4]);
    expect(response.data.map(({ embedding }) => bitsOf(embedding))).toEqual(
      input.map((text) => bitsOf(fakeVector(text, 1536))),
    );
  });

  test("accept one token array", async () => {
    const response = await client.embeddings.create({ model, input: [9906, 1917] });
    expect(response.data).toHaveLength(1);
    expect(bitsOf(response.data[0]!.embedding)).toBe(bitsOf(fakeVector([9906, 1917], 1536)));
    expect(response.usage.prompt_tokens).toBe(2);
    expect(sent().input).toEqual([9906, 1917]);
  });

  test("accept several token arrays", async () => {
    const input = [[9906], [1917, 0, 100_257]];
    const response = await client.embeddings.create({ model, input });
    expect(response.data.map(({ embedding }) => bitsOf(embedding))).toEqual(
      input.map((tokens) => bitsOf(fakeVector(tokens, 1536))),
    );
    expect(sent().input).toEqual(input);
  });

  test("of a list of one text are a list of one", async () => {
    await client.embeddings.create({ model, input: ["only"] });
    expect(sent().input).toEqual(["only"]);
  });

  test("accept 2048 texts in one request, in order", async () => {
    const input = Array.from({ length: 2048 }, (_, i) => `text ${i}`);
    const response = await client.embeddings.create({ model, input, dimensions: 8 });
    expect(response.data).toHaveLength(2048);
    for (const [at, { index, embedding }] of response.data.entries()) {
      expect(index).toBe(at);
      expect(bitsOf(embedding)).toBe(bitsOf(fakeVector(`text ${at}`, 8)));
    }
    expect(fake.requests).toHaveLength(1);
  });

  test("send `user` upstream, and nothing that was not given", async () => {
    await client.embeddings.create({ model, input: "a", user: "user-1234" });
    expect(sent()).toEqual({ model, input: "a", encoding_format: "base64", user: "user-1234" });
  });

  test("do not send null members upstream, which some upstreams refuse", async () => {
    await client.embeddings.create({
      model,
      input: "a",
      dimensions: null,
      encoding_format: null,
      user: null,
    } as never);
    expect(sent()).toEqual({ model, input: "a", encoding_format: "base64" });
    fake.clear();
    const nothing = { dimensions: null, encoding_format: null, user: null, unknown: null };
    await gateway.post("/v1/embeddings", { model, input: "a", ...nothing });
    expect(sent()).toEqual({ model, input: "a", encoding_format: "base64" });
  });

  test("send the upstream's key upstream, and never the client's", async () => {
    await client.embeddings.create({ model, input: "a" });
    const [request] = fake.requests;
    expect(request!.headers.authorization).toBe("Bearer sk-fake");
    expect(JSON.stringify(request)).not.toContain(testKey);
  });

  test("accept the key in an `api-key` header, as Azure's clients send it", async () => {
    const azure = new OpenAI({
      baseURL: gateway.baseURL,
      apiKey: "unused",
      maxRetries: 0,
      defaultHeaders: { "api-key": testKey, authorization: null },
    });
    const response = await azure.embeddings.create({ model, input: "hello" });
    expect(bitsOf(response.data[0]!.embedding)).toBe(bitsOf(fakeVector("hello", 1536)));
    expect(fake.requests[0]!.headers["api-key"]).toBeUndefined();
  });

  test("have a request ID that the SDK exposes", async () => {
    const response = await client.embeddings.create({ model, input: "a" });
    expect((response as { _request_id?: string })._request_id).toBeString();
    expect(gateway.rows().at(-1)?.requestId).toBe(
      (response as { _request_id?: string })._request_id!,
    );
  });

  test("have a ledger row with the tokens that the upstream reported", async () => {
    const { usage } = await client.embeddings.create({ model, input: ["a", "b"] });
    expect(gateway.rows().at(-1)).toMatchObject({
      endpoint: "embeddings",
      model,
      upstream: "fake",
      targetModel: model,
      status: 200,
      error: null,
      attempts: 1,
      inputTokens: usage.prompt_tokens,
      outputTokens: null,
      images: null,
    });
  });

  test("have an estimated usage when the upstream reports none, and the ledger has none", async () => {
    fake.script({ usage: "absent" });
    const response = await client.embeddings.create({ model, input: "a" });
    expect(response.usage).toEqual({ prompt_tokens: 1, total_tokens: 1 });
    expect(gateway.rows().at(-1)?.inputTokens).toBeNull();
  });
});
