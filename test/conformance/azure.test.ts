/** OpenAI's Azure client, unmodified: the gateway's URL is its endpoint, a model its deployment. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import OpenAI, { type AzureClientOptions, AzureOpenAI, toFile } from "openai";
import { fakeVector } from "../fake-upstream.ts";
import { testKey } from "../harness.ts";
import { arrange, bitsOf, grayImage } from "./arrange.ts";

const { fake, gateway, close } = arrange();
beforeEach(() => fake.clear());
afterAll(close);

const apiVersion = "2025-04-01-preview";
const clientWith = (options: AzureClientOptions) =>
  new AzureOpenAI({
    endpoint: gateway.url,
    apiKey: testKey,
    apiVersion,
    maxRetries: 0,
    ...options,
  });
const azure = clientWith({});

describe("the official client for Azure", () => {
  test("gets embeddings from a deployment, which is a model of the gateway", async () => {
    const response = await azure.embeddings.create({ model: "embedding-model", input: "hello" });
    expect(bitsOf(response.data[0]!.embedding)).toBe(bitsOf(fakeVector("hello", 3072)));
    expect(response.model).toBe("embedding-model");
    expect(gateway.rows().at(-1)).toMatchObject({
      endpoint: "embeddings",
      model: "embedding-model",
    });
  });

  test("gets the model of the path if the body names another", async () => {
    const client = clientWith({ deployment: "embedding-model" });
    const response = await client.embeddings.create({
      model: "text-embedding-3-small",
      input: "a",
    });
    expect(response.model).toBe("embedding-model");
    expect(gateway.rows().at(-1)?.model).toBe("embedding-model");
  });

  test("generates and edits images, buffered and streamed", async () => {
    const image = await azure.images.generate({ model: "gpt-image-2", prompt: "an otter" });
    expect(image.data).toHaveLength(1);
    const client = clientWith({ deployment: "image-model" });
    const edited = await client.images.edit({
      prompt: "a hat",
      image: await toFile(grayImage("one"), "otter.png", { type: "image/png" }),
    });
    expect(edited.data).toHaveLength(1);
    expect(gateway.rows().at(-1)).toMatchObject({ endpoint: "edits", model: "image-model" });
    const stream = await azure.images.generate({
      model: "gpt-image-2",
      prompt: "an otter",
      stream: true,
    });
    const types: string[] = [];
    for await (const { type } of stream) types.push(type);
    expect(types.at(-1)).toBe("image_generation.completed");
  });

  test("lists models", async () => {
    const ids = (await azure.models.list()).data.map(({ id }) => id);
    expect(ids).toContain("embedding-model");
    expect((await azure.models.retrieve("embedding-model")).id).toBe("embedding-model");
  });

  test("edits images without a deployment, and takes the model of the form", async () => {
    const edited = await azure.images.edit({
      model: "image-model",
      prompt: "a hat",
      image: await toFile(grayImage("one"), "otter.png", { type: "image/png" }),
    });
    expect(edited.data).toHaveLength(1);
    expect(gateway.rows().at(-1)).toMatchObject({ endpoint: "edits", model: "image-model" });
  });

  test("accepts an endpoint that ends with a slash", async () => {
    const client = clientWith({ endpoint: `${gateway.url}/` });
    const { model } = await client.embeddings.create({ model: "embedding-model", input: "a" });
    expect(model).toBe("embedding-model");
  });

  test.each(["/v1", "/openai/v1"])(
    "is served with a base URL that ends with %s, under which it names the deployment",
    async (base) => {
      const client = clientWith({ endpoint: undefined, baseURL: `${gateway.url}${base}` });
      const response = await client.embeddings.create({ model: "embedding-model", input: "hello" });
      expect(bitsOf(response.data[0]!.embedding)).toBe(bitsOf(fakeVector("hello", 3072)));
      await client.images.generate({ model: "gpt-image-2", prompt: "an otter" });
      const deployed = clientWith({
        endpoint: undefined,
        baseURL: `${gateway.url}${base}`,
        deployment: "image-model",
      });
      const image = await toFile(grayImage("one"), "otter.png", { type: "image/png" });
      await deployed.images.edit({ prompt: "a hat", image });
      expect(
        gateway
          .rows()
          .slice(-3)
          .map(({ endpoint, model }) => [endpoint, model]),
      ).toEqual([
        ["embeddings", "embedding-model"],
        ["generations", "gpt-image-2"],
        ["edits", "image-model"],
      ]);
    },
  );

  test("gets an error for an unknown deployment and for an invalid key", async () => {
    const failure = (client: AzureOpenAI, model: string) =>
      client.embeddings.create({ model, input: "a" }).then(
        () => undefined,
        (error) => error,
      );
    const missing = await failure(azure, "no/such model");
    expect(missing).toMatchObject({ status: 404, code: "model_not_found" });
    const wrong = await failure(clientWith({ apiKey: "sk-wrong" }), "embedding-model");
    expect(wrong).toMatchObject({ status: 401, code: "invalid_api_key" });
  });
});

describe("the official client at Azure's v1 path", () => {
  const client = new OpenAI({
    baseURL: `${gateway.url}/openai/v1/`,
    apiKey: "unused",
    defaultHeaders: { authorization: null, "api-key": testKey },
    defaultQuery: { "api-version": "preview" },
    maxRetries: 0,
  });

  test("gets the same responses as at /v1", async () => {
    const { model } = await client.embeddings.create({ model: "embedding-model", input: "a" });
    expect(model).toBe("embedding-model");
    await client.images.generate({ model: "gpt-image-2", prompt: "an otter" });
    const image = await toFile(grayImage("one"), "otter.png", { type: "image/png" });
    await client.images.edit({ model: "gpt-image-2", prompt: "a hat", image });
    expect((await client.models.list()).data.length).toBeGreaterThan(3);
    expect((await client.models.retrieve("gpt-image-2")).id).toBe("gpt-image-2");
    expect(
      gateway
        .rows()
        .slice(-3)
        .map(({ endpoint }) => endpoint),
    ).toEqual(["embeddings", "generations", "edits"]);
  });
});

test("clients of 2022 list models as engines", async () => {
  const get = async (path: string) => {
    const response = await fetch(`${gateway.baseURL}${path}`, {
      headers: { authorization: `Bearer ${testKey}` },
    });
    return { status: response.status, body: (await response.json()) as { data: unknown[] } };
  };
  const engine = { id: "embedding-model", object: "engine", owner: "openai", ready: true };
  const { body } = await get("/engines");
  expect(body).toMatchObject({ object: "list" });
  expect(body.data).toContainEqual(engine);
  expect(await get("/engines/embedding-model")).toEqual({ status: 200, body: engine as never });
  expect(await get("/engines/nobody")).toMatchObject({ status: 404 });
});

test("Azure clients without a deployment in the path name the model in the body", async () => {
  const headers = { "api-key": testKey, "content-type": "application/json" };
  const post = (path: string, body: unknown) =>
    fetch(`${gateway.url}/openai/${path}?api-version=${apiVersion}`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
  const vectors = await post("embeddings", { model: "embedding-model", input: "a" });
  expect(await vectors.json()).toMatchObject({ model: "embedding-model" });
  const images = await post("images/generations", { model: "image-model", prompt: "an otter" });
  expect(images.status).toBe(200);
  expect(gateway.rows().at(-1)).toMatchObject({
    endpoint: "generations",
    model: "image-model",
  });
  const engine = await fetch(`${gateway.url}/openai/engines/embedding-model`, { headers });
  expect(await engine.json()).toMatchObject({ id: "embedding-model", object: "engine" });
  const ofEngine = await post("engines/embedding-model/embeddings", { input: "b" });
  expect(await ofEngine.json()).toMatchObject({ model: "embedding-model" });
  const engines = await fetch(`${gateway.url}/openai/engines`, { headers });
  expect(await engines.json()).toMatchObject({ object: "list" });
});
