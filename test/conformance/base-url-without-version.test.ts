/** Clients of other gateways often have a base URL without /v1. */
import { afterAll, expect, test } from "bun:test";
import { toFile } from "openai";
import { arrange, clientOf, grayImage } from "./arrange.ts";

const { gateway, close } = arrange();
afterAll(close);

test("the official client works with a base URL without /v1", async () => {
  const client = clientOf(gateway, { baseURL: gateway.url });
  const vectors = await client.embeddings.create({ model: "text-embedding-3-small", input: "a" });
  expect(vectors.data).toHaveLength(1);
  const made = await client.images.generate({ model: "gpt-image-2", prompt: "an otter" });
  expect(made.data).toHaveLength(1);
  const image = await toFile(grayImage("one"), "otter.png", { type: "image/png" });
  const edited = await client.images.edit({ model: "gpt-image-2", prompt: "a hat", image });
  expect(edited.data).toHaveLength(1);
  expect((await client.models.list()).data.map(({ id }) => id)).toContain("gpt-image-2");
  expect((await client.models.retrieve("gpt-image-2")).id).toBe("gpt-image-2");
  const engine = await gateway.post("/engines/text-embedding-3-small/embeddings", { input: "a" });
  expect(engine.status).toBe(200);
  expect(gateway.rows().map(({ endpoint }) => endpoint)).toEqual([
    "embeddings",
    "generations",
    "edits",
    "embeddings",
  ]);
});

test("a path without /v1 needs an API key as well", async () => {
  for (const path of ["/models", "/models/gpt-image-2"])
    expect((await fetch(`${gateway.url}${path}`)).status).toBe(401);
  for (const path of ["/embeddings", "/images/generations", "/images/edits"])
    expect((await fetch(`${gateway.url}${path}`, { method: "POST", body: "{}" })).status).toBe(401);
});
