/** The list of models with the official SDK. */
import { afterAll, expect, test } from "bun:test";
import { NotFoundError } from "openai";
import { configFor, testKey } from "../harness.ts";
import { arrange, refusalOf } from "./arrange.ts";

const otherKey = "sk-other-0123456789abcdef";
const { gateway, client, close } = arrange({
  yaml: (url) =>
    configFor(url)
      .replace(
        "keys:",
        `  - { id: BAAI/bge-small, kind: embedding, dimensions: 1536, targets: [{ upstream: fake, model: text-embedding-3-small }] }
  - { id: "ft:gpt:acme::abc", kind: image, targets: [{ upstream: fake, model: gpt-image-2 }] }
keys:`,
      )
      .concat(`  - { name: other, key: ${otherKey}, models: ["text-*"] }\n`),
});
afterAll(close);

test("the SDK lists every model that the key may use, in OpenAI's format", async () => {
  const models = await client.models.list();
  const ids = models.data.map(({ id }) => id);
  expect(ids).toContain("text-embedding-3-small");
  expect(ids).toContain("BAAI/bge-small");
  expect(ids).toContain("image-model");
  for (const model of models.data) {
    expect(model.object).toBe("model");
    expect(model.created).toBeInteger();
    expect(model.owned_by).toBeString();
  }
});

test("the SDK can iterate over the list as with OpenAI", async () => {
  const ids: string[] = [];
  for await (const { id } of client.models.list()) ids.push(id);
  expect(ids).toContain("gpt-image-2");
  expect(new Set(ids).size).toBe(ids.length);
});

test.each(["text-embedding-3-small", "BAAI/bge-small", "ft:gpt:acme::abc"])(
  "the SDK retrieves %s by its ID",
  async (id) => {
    const model = await client.models.retrieve(id);
    expect(model).toMatchObject({ id, object: "model" });
  },
);

test("a model ID with a slash is found with an unencoded slash, too", async () => {
  const response = await fetch(`${gateway.baseURL}/models/BAAI/bge-small`, {
    headers: { authorization: `Bearer ${testKey}` },
  });
  expect(await response.json()).toMatchObject({ id: "BAAI/bge-small" });
});

test("an unknown model ID is NotFoundError with code model_not_found", async () => {
  const error = await refusalOf(client.models.retrieve("no/such model"), NotFoundError);
  expect(error).toMatchObject({
    status: 404,
    code: "model_not_found",
    type: "invalid_request_error",
  });
  expect(error.message).toContain("no/such model");
});
