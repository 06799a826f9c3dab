/** The error for an input that is too long names its index in the client's request. */

import { beforeEach, describe, expect, test } from "bun:test";
import { closeAfterAll } from "../clean-up.ts";
import type { InjectedFault } from "../fake-upstream.ts";
import { startFake } from "../fake-upstream.ts";
import { startGateway, testKey } from "../harness.ts";

const fake = startFake();
const gateway = startGateway({
  settings: { VEXEL_CACHE_BYTES: "10000000" },
  yaml: `
upstreams:
  - { id: openai, kind: openai, baseUrl: "${fake.url}", apiKey: sk-fake }
  - { id: voyage, kind: voyage, baseUrl: "${fake.url}", apiKey: sk-fake }
  - { id: mistral, kind: mistral, baseUrl: "${fake.url}", apiKey: sk-fake }
  - { id: jina, kind: jina, baseUrl: "${fake.url}", apiKey: sk-fake }
models:
  - { id: openai, kind: embedding, targets: [{ upstream: openai, model: custom-embedding-1 }] }
  - { id: voyage, kind: embedding, targets: [{ upstream: voyage, model: voyage-3 }] }
  - { id: mistral, kind: embedding, targets: [{ upstream: mistral, model: mistral-embed }] }
  - { id: jina, kind: embedding, targets: [{ upstream: jina, model: jina-embeddings-v3 }] }
keys:
  - { name: test, key: ${testKey} }
`,
});
beforeEach(() => fake.clear());
closeAfterAll(gateway, fake);

const says = (body: unknown, status = 400): InjectedFault => ({
  response: { status, headers: { "content-type": "application/json" }, body: JSON.stringify(body) },
});
const openai = (index: number): InjectedFault =>
  says({
    error: {
      message: `Invalid 'input[${index}]': maximum input length is 8192 tokens.`,
      type: "invalid_request_error",
      param: null,
      code: null,
    },
  });

async function refusal(model: string, input: readonly string[]) {
  const response = await gateway.post("/v1/embeddings", { model, input });
  const { error } = (await response.json()) as { error: { message: string; param: string } };
  expect(response.status, error.message).toBe(400);
  return error;
}

describe("an input that is too long is named", () => {
  test.each([
    ["openai", openai(1), /input\[1\]/],
    [
      "voyage",
      says({
        detail:
          "Request to model 'voyage-3' failed. The example at index 1 in your batch has too many tokens and does not fit into the model's context window of 32000 tokens.",
      }),
      /example at index 1\b/,
    ],
    [
      "mistral",
      says({ message: "Input id 1 has 9000 tokens, exceeding max 8192 tokens." }),
      /Input id 1\b/,
    ],
  ] as const)("as the upstream names it (%s)", async (model, fault, expectedMessage) => {
    fake.script(fault);
    const { message, param } = await refusal(model, ["a", "b"]);
    expect(message).toMatch(expectedMessage);
    expect(param).toBe("input[1]");
  });

  test("by its index in the client's request, although cached inputs were not sent", async () => {
    const known = await gateway.post("/v1/embeddings", { model: "openai", input: ["k", "l"] });
    expect(known.status).toBe(200);
    fake.script(openai(1));
    const { message, param } = await refusal("openai", ["k", "new", "l", "long"]);
    expect(fake.requests.at(-1)?.json).toMatchObject({ input: ["new", "long"] });
    expect([message, param]).toEqual([
      "Invalid 'input[3]': maximum input length is 8192 tokens.",
      "input[3]",
    ]);
  });

  test("from the text in Jina's `detail`", async () => {
    const message = "Input text exceeds the model's maximum of 8194 tokens.";
    fake.script(says({ detail: { message, code: "INPUT_TOKEN_LIMIT_EXCEEDED" } }));
    expect(await refusal("jina", ["x", "y"])).toMatchObject({ message, param: null });
  });

  test("by its index if it is the only input that was sent, even if the upstream names none", async () => {
    await gateway.post("/v1/embeddings", { model: "openai", input: ["m", "n"] });
    fake.script(
      says({ error: { message: "This model's maximum context length is 8192 tokens." } }),
    );
    expect(await refusal("openai", ["m", "n", "long"])).toMatchObject({ param: "input[2]" });
  });
});

test("an error that is not about an input names no input", async () => {
  await gateway.post("/v1/embeddings", { model: "openai", input: ["o", "p"] });
  const error = { message: "Unknown field: foo", type: "invalid_request_error" };
  fake.script(says({ error }));
  expect(await refusal("openai", ["o", "p", "q"])).toMatchObject({ param: null });
});
