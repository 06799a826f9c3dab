/** The fake upstream behaves like OpenAI, as seen by the official client. */

import { afterAll, afterEach, expect, test } from "bun:test";
import OpenAI from "openai";
import { fakeVector, startFake } from "../fake-upstream.ts";

const fake = startFake();
const openai = new OpenAI({ baseURL: fake.url, apiKey: "sk-fake", maxRetries: 0 });
const small = "text-embedding-3-small";
const ada = "text-embedding-ada-002";

afterEach(() => fake.clear());
afterAll(() => fake.close());

const post = (body: unknown, authorization = "Bearer sk-fake") =>
  fetch(`${fake.url}/embeddings`, {
    method: "POST",
    headers: { authorization },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });

test("the client's default request returns the expected vectors", async () => {
  const input = ["one", "two", "drei"];
  const { data, usage, model } = await openai.embeddings.create({ model: small, input });
  expect(data.map((row) => row.index)).toEqual([0, 1, 2]);
  for (const [i, row] of data.entries())
    expect(Float32Array.from(row.embedding)).toEqual(fakeVector(input[i]!, 1536));
  expect(usage).toEqual({ prompt_tokens: 3, total_tokens: 3 });
  expect(model).toBe(small);
  expect(fake.requests[0]?.json).toEqual({ model: small, input, encoding_format: "base64" });
});

test("floats carry the same float32 values as base64", async () => {
  const response = await openai.embeddings.create({
    model: "text-embedding-3-large",
    input: [7, 8, 9],
    encoding_format: "float",
    dimensions: 256,
  });
  expect(Float32Array.from(response.data[0]!.embedding)).toEqual(fakeVector([7, 8, 9], 256));
  expect(response.usage.prompt_tokens).toBe(3);
});

test("vectors have length 1 and differ by input, and a shorter one is the normalized beginning of a longer one", () => {
  const norm = (vector: Float32Array) => Math.hypot(...vector);
  const long = fakeVector("a", 1536);
  expect(norm(long)).toBeCloseTo(1, 6);
  expect(fakeVector("1,2", 8)).not.toEqual(fakeVector([1, 2], 8));
  const head = long.slice(0, 256);
  const length = norm(head);
  for (const [i, value] of fakeVector("a", 256).entries())
    expect(value).toBeCloseTo(head[i]! / length, 6);
});

const tooLong = "abcd".repeat(8193);
const tooMany = Array<string>(40).fill("abcd".repeat(8000));
const badInput = "'$.input' is invalid. Please check";
test.each<[string, unknown, number, string | null, string]>([
  ["no model", { input: "a" }, 400, null, "you must provide a model parameter"],
  ["an unknown model", { model: "x" }, 404, "model_not_found", "The model `x` does not exist"],
  ["an image model", { model: "gpt-image-2" }, 403, null, "You are not allowed to generate"],
  ["no input", { model: small }, 400, null, badInput],
  ["an empty text", { model: small, input: "" }, 400, null, badInput],
  ["an empty text among others", { model: small, input: ["a", ""] }, 400, null, badInput],
  ["mixed kinds", { model: small, input: ["a", 1] }, 400, null, badInput],
  ["2049 inputs", { model: small, input: Array(2049).fill("a") }, 400, null, badInput],
  ["8193 tokens", { model: small, input: tooLong }, 400, null, "This model's maximum context"],
  ["320k tokens", { model: small, input: tooMany }, 400, "max_tokens_per_request", "Requested 320"],
  ["ada, shorter", { model: ada, input: "a", dimensions: 8 }, 400, null, "This model does not"],
  ["1537 dimensions", { model: small, input: "a", dimensions: 1537 }, 400, null, "Invalid value"],
  ["0 dimensions", { model: small, input: "a", dimensions: 0 }, 400, null, "'$.dimensions' is"],
  [
    "md5",
    { model: small, input: "a", encoding_format: "md5" },
    400,
    null,
    "Invalid value for 'enc",
  ],
  [
    "other fields",
    { model: small, input: "a", foo: 1 },
    400,
    null,
    "Unrecognized request argument",
  ],
  ["broken JSON", "{", 400, null, "We could not parse the JSON body of your request."],
])("refuses %s", async (_name, body, status, code, message) => {
  const response = await post(body);
  const { error } = (await response.json()) as { error: Record<string, unknown> };
  expect([response.status, error.code]).toEqual([status, code]);
  expect(error.message).toStartWith(message);
  expect(Object.keys(error).sort()).toEqual(["code", "message", "param", "type"]);
});

test("2048 inputs are served", async () => {
  const input = Array.from({ length: 2048 }, (_, i) => `t${i}`);
  const { data } = await openai.embeddings.create({ model: small, input, dimensions: 4 });
  expect(Float32Array.from(data[2047]!.embedding)).toEqual(fakeVector("t2047", 4));
});

test("a key is required, and the response has OpenAI's headers", async () => {
  const none = await post({}, "");
  expect(none.status).toBe(401);
  expect(await none.text()).toContain("You didn't provide an API key");
  const wrong = await post({}, "Bearer sk-wrong-wrong-wrong");
  expect(await wrong.json()).toMatchObject({ error: { code: "invalid_api_key" } });
  const right = await post({ model: small, input: "a" });
  expect(right.headers.get("x-request-id")).toBe(fake.requests[2]!.id);
  expect(right.headers.get("openai-version")).toBe("2020-10-01");
  expect(right.headers.get("x-ratelimit-remaining-tokens")).toBe("999999");
});

test("models are listed and shown, and unknown models are refused", async () => {
  const ids = (await openai.models.list()).data.map((model) => model.id);
  expect(ids).toContain("gpt-image-2");
  expect((await openai.models.retrieve(small)).object).toBe("model");
  const unknown = await openai.models.retrieve("x/y").catch((error: unknown) => error);
  expect(unknown).toMatchObject({ status: 404, code: "model_not_found" });
});

test("unknown paths and methods are refused", async () => {
  const headers = { authorization: "Bearer sk-fake" };
  expect((await fetch(`${fake.url}/nowhere`, { headers })).status).toBe(404);
  expect((await fetch(`${fake.url}/embeddings`, { headers })).status).toBe(405);
});
