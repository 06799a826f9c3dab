/** An upstream error in a response with status 200 is mapped as if the status had said so. */

import { beforeEach, expect, test } from "bun:test";
import { BoundedResponse } from "../../server/upstream/transport/upstream-response.ts";
import { closeAfterAll } from "../clean-up.ts";
import { startFake } from "../fake-upstream.ts";
import { startGateway, testKey } from "../harness.ts";

const fake = startFake();
const gateway = startGateway({
  yaml: `
upstreams:
  - { id: openai, kind: openai, baseUrl: "${fake.url}", apiKey: sk-fake-secret }
  - { id: ollama, kind: ollama, baseUrl: "${fake.url}" }
  - { id: cohere, kind: cohere, baseUrl: "${fake.url}", apiKey: sk-fake-secret }
models:
  - { id: openai, kind: embedding, targets: [{ upstream: openai, model: custom-embedding-1 }] }
  - { id: ollama, kind: embedding, targets: [{ upstream: ollama, model: custom-embedding-1 }] }
  - { id: cohere, kind: embedding, targets: [{ upstream: cohere, model: embed-v4.0 }] }
keys:
  - { name: test, key: ${testKey} }
`,
});
beforeEach(() => {
  fake.clear();
  gateway.resetTargets();
});
closeAfterAll(gateway, fake);

const inside = (type: string, code: unknown, message: string) => ({
  error: { message, type, code },
});

test.each<[string, string, unknown, number, string | null, RegExp]>([
  [
    "an invalid request",
    "openai",
    inside("invalid_request_error", null, "The input has too many tokens."),
    400,
    null,
    /^The input has too many tokens\.$/,
  ],
  [
    "a rate limit",
    "openai",
    inside("rate_limit_error", null, "Slow down."),
    429,
    "rate_limit_exceeded",
    /Slow down|rate limit/,
  ],
  [
    "a status in `code`",
    "openai",
    inside("", 429, "Too fast."),
    429,
    "rate_limit_exceeded",
    /Too fast|rate limit/,
  ],
  [
    "a wrong key",
    "openai",
    inside("authentication_error", "invalid_api_key", "Wrong key sk-fake-secret."),
    502,
    "upstream_credentials",
    /^The upstream refused the gateway's credentials/,
  ],
  [
    "an internal error of the upstream",
    "openai",
    inside("server_error", null, "CUDA out of memory on sk-fake-secret"),
    502,
    "upstream_error",
    /reported an error in its response: CUDA out of memory on \*\*\*$/,
  ],
  [
    "the vendor's own words",
    "ollama",
    { error: "the input length exceeds the context length" },
    400,
    null,
    /^the input length exceeds the context length$/,
  ],
  [
    "a sentence alone",
    "cohere",
    { id: "x", message: "internal trouble" },
    502,
    "upstream_error",
    /reported an error in its response: internal trouble$/,
  ],
])("an error in a 200 response is mapped: %s", async (_, model, body, status, code, message) => {
  const headers = { "content-type": "application/json" };
  fake.clear();
  // A transient error is attempted three times.
  fake.script({ response: { status: 200, headers, body: JSON.stringify(body) } }, { times: 3 });
  const response = await gateway.post("/v1/embeddings", { model, input: `text ${message}` });
  const { error } = (await response.json()) as {
    error: { message: string; code: string | null };
  };
  expect([response.status, error.code], error.message).toEqual([status, code]);
  expect(error.message).toMatch(message);
  expect(error.message).not.toContain("sk-fake-secret");
});

test("a response that arrived in chunks can be read again, within the bounds of each reader", async () => {
  async function* blocks() {
    yield Buffer.from('{"error":');
    yield Buffer.from('"no"}');
  }
  const stream = blocks();
  const response = new BoundedResponse({
    status: 200,
    headers: new Headers(),
    chunks: () => stream,
    signal: new AbortController().signal,
    maxBytes: 100,
  });
  expect(await response.json()).toEqual({ error: "no" });
  expect(await response.text()).toBe('{"error":"no"}');
  await expect(response.text(5)).rejects.toMatchObject({ kind: "upstream_invalid" });
});

test("an invalid response stays invalid, whatever other fields it has", async () => {
  fake.script({
    response: {
      status: 200,
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ message: "success", data: [{ index: 0 }] }),
    },
  });
  const response = await gateway.post("/v1/embeddings", { model: "openai", input: "a" });
  expect(await response.json()).toMatchObject({ error: { code: "upstream_invalid" } });
});
