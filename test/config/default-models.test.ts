/**
 * Requests that name no model: the default of the key or of the configuration, the only model, or an error with the
 * ids.
 */

import { afterAll, describe, expect, test } from "bun:test";
import { readText } from "../../server/config/yaml/yaml-file.ts";
import { closeAfterAll } from "../clean-up.ts";
import { startFake } from "../fake-upstream.ts";
import { configFor, startGateway } from "../harness.ts";

const fake = startFake();
afterAll(() => fake.close());

const keys = `
  - { name: one-of-each, key: sk-one-of-each-000000, models: [embedding-model, image-model] }
  - { name: own-defaults, key: sk-own-defaults-00000, defaults: { embedding: text-embedding-ada-002, image: dall-e-3 } }
  - { name: narrow, key: sk-narrow-0000000000, models: [text-*, gpt-image-*, dall-e-3] }
  - { name: nothing, key: sk-nothing-000000000, models: [text-embedding-3-small] }
`;
const plain = startGateway({ yaml: `${configFor(fake.url)}${keys.slice(1)}` });
const chosen = startGateway({
  yaml: `${configFor(fake.url)}${keys.slice(1)}defaults: { embedding: embedding-model, image: image-model }\n`,
});
closeAfterAll(plain, chosen);

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const png = (): Blob =>
  new Blob(
    [
      Buffer.from(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        "base64",
      ),
    ],
    { type: "image/png" },
  );

/** openai-node 3.3.0, createImageEdit(image, prompt): two parts and nothing else. */
function editForm(): FormData {
  const form = new FormData();
  form.append("image", png(), "otter.png");
  form.append("prompt", "a hat");
  return form;
}

async function modelsOf(gateway: typeof plain, key: string) {
  const embedding = await gateway.post("/v1/embeddings", { input: "a" }, bearer(key));
  const generation = await gateway.post(
    "/v1/images/generations",
    { prompt: "an otter", n: 1, size: "1024x1024" },
    bearer(key),
  );
  const edit = await fetch(`${gateway.baseURL}/images/edits`, {
    method: "POST",
    headers: bearer(key),
    body: editForm(),
  });
  const statuses = [embedding, generation, edit].map(({ status }) => status);
  const { model } = (await embedding.json()) as { model?: string };
  await generation.arrayBuffer();
  await edit.arrayBuffer();
  return {
    statuses,
    model,
    rows: gateway
      .rows()
      .slice(-3)
      .map((row) => row.model),
  };
}

describe("a request that names no model", () => {
  test("uses the only model of the kind that its key may use", async () => {
    expect(await modelsOf(plain, "sk-one-of-each-000000")).toEqual({
      statuses: [200, 200, 200],
      model: "embedding-model",
      rows: ["embedding-model", "image-model", "image-model"],
    });
  });

  test("uses the default of its key, before the default of the configuration", async () => {
    for (const gateway of [plain, chosen]) {
      const { model, rows, statuses } = await modelsOf(gateway, "sk-own-defaults-00000");
      expect(model).toBe("text-embedding-ada-002");
      expect(rows).toEqual(["text-embedding-ada-002", "dall-e-3", "dall-e-3"]);
      // dall-e-3 has no edits, so the default model refuses the third request.
      expect(statuses.slice(0, 2)).toEqual([200, 200]);
      expect(statuses[2]).toBeGreaterThanOrEqual(400);
    }
  });

  test("uses the default of the configuration, unless its key may not use that model", async () => {
    const test = await modelsOf(chosen, "sk-test-0123456789abcdef");
    expect(test.rows).toEqual(["embedding-model", "image-model", "image-model"]);
    expect((await modelsOf(chosen, "sk-narrow-0000000000")).statuses).toEqual([400, 400, 400]);
  });

  test("is refused with the ids that the key may use, if there are several or none", async () => {
    const message = async (path: string, body: object, key: string) => {
      const response = await plain.post(path, body, bearer(key));
      expect(response.status).toBe(400);
      return ((await response.json()) as { error: { message: string; param: string } }).error;
    };
    for (const model of [undefined, null, ""]) {
      const body = { model, input: "a" };
      expect((await message("/v1/embeddings", body, "sk-narrow-0000000000")).message).toBe(
        "you must provide a model parameter. This API key may use: text-embedding-3-small, text-embedding-ada-002.",
      );
    }
    expect(
      await message("/v1/images/generations", { prompt: "a" }, "sk-narrow-0000000000"),
    ).toMatchObject({
      message: "Missing required parameter: 'model'. This API key may use: gpt-image-2, dall-e-3.",
      param: "model",
    });
    const none = await message("/v1/images/generations", { prompt: "a" }, "sk-nothing-000000000");
    expect(none.message).toBe(
      "Missing required parameter: 'model'. This API key may not use any image model.",
    );
  });

  test("is refused with at most twenty ids", async () => {
    const models = Array.from(
      { length: 30 },
      (_, at) =>
        `  - { id: model-${at}, kind: embedding, targets: [{ upstream: fake, model: m }] }`,
    );
    const yaml = configFor(fake.url).replace("keys:", `${models.join("\n")}\nkeys:`);
    const many = startGateway({ yaml });
    try {
      const response = await many.post("/v1/embeddings", { input: "a" });
      const { error } = (await response.json()) as { error: { message: string } };
      expect(error.message).toContain("model-16 and 14 more (GET /v1/models lists them).");
      expect(error.message).not.toContain("model-17");
    } finally {
      await many.close();
    }
  });
});

const problems = (yaml: string) => {
  const read = readText({ text: yaml, file: "vexel.yaml", env: {} });
  return read.ok ? [] : read.problems.map(({ line, key, message }) => `${line} ${key}: ${message}`);
};
const base = `
upstreams: [{ id: here, kind: openai, apiKey: sk-fake }]
models:
  - { id: vectors, kind: embedding, targets: [{ upstream: here, model: text-embedding-3-small }] }
  - { id: image-model, kind: image, targets: [{ upstream: here, model: gpt-image-2 }] }
`;

describe("defaults in the file", () => {
  test("are validated, with line and key", () => {
    expect(problems(`${base}defaults: { embedding: vectors, image: image-model }`)).toEqual([]);
    expect(problems(`${base}defaults: { embedding: vector, image: vectors }`)).toEqual([
      '6 defaults.embedding: there is no model "vector" (did you mean "vectors"?)',
      '6 defaults.image: "vectors" is of kind embedding, and this must be a model of kind image',
    ]);
    expect(problems(`${base}defaults: { picture: image-model }`)).toEqual([
      "6 defaults.picture: unknown key; known here: embedding, image",
    ]);
    const key =
      "{ name: narrow, key: sk-narrow-0000000000, models: [vec*], defaults: { image: image-model } }";
    expect(problems(`${base}keys:\n  - ${key}`)).toEqual([
      '7 keys[0].defaults.image: the key may not use "image-model": add it to the key\'s models',
    ]);
    expect(problems(`${base}defaults: { embedding: 7 }`)[0]).toStartWith("6 defaults.embedding: ");
  });
});
