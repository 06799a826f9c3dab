/** Hot entries keep their base64 text; the text never belongs to another vector, and never outlives its own. */
import { describe, expect, test } from "bun:test";
import { EmbeddingCache } from "../../server/embeddings/cache/embedding-cache.ts";
import { encodeVector } from "../../server/embeddings/vector-formats.ts";
import { startFake } from "../fake-upstream.ts";
import { configFor, startGateway } from "../harness.ts";

const vectorOf = (seed: number): Float32Array => new Float32Array(8).fill(seed);
const memoryWith = (count: number): EmbeddingCache => {
  const cache = new EmbeddingCache({ maxBytes: 8_000_000 });
  for (let at = 0; at < count; at++) {
    cache.set(`key ${at}`, { vector: vectorOf(at + 1), tokens: at });
  }
  return cache;
};

describe("a hot entry", () => {
  test("is the same object each time, with the same content", () => {
    const cache = memoryWith(1);
    const first = cache.get("key 0", "base64");
    const second = cache.get("key 0", "base64");
    expect(first).toEqual({ vector: encodeVector(vectorOf(1)), tokens: 0 });
    expect(second).toEqual(first!);
    expect(cache.get("key 0", "base64")).toBe(second!);
  });

  test("is returned as numbers to a client that requests numbers", () => {
    const cache = memoryWith(1);
    for (let round = 0; round < 3; round++) cache.get("key 0", "base64");
    expect(cache.get("key 0", "float")).toEqual({ vector: vectorOf(1), tokens: 0 });
  });

  test("is dropped when its vector is replaced", () => {
    const cache = memoryWith(1);
    for (let round = 0; round < 3; round++) cache.get("key 0", "base64");
    cache.set("key 0", { vector: vectorOf(9), tokens: 90 });
    for (let round = 0; round < 3; round++) {
      expect(cache.get("key 0", "base64")).toEqual({
        vector: encodeVector(vectorOf(9)),
        tokens: 90,
      });
    }
  });

  test("is dropped when the cache is cleared", () => {
    const cache = memoryWith(1);
    for (let round = 0; round < 3; round++) cache.get("key 0", "base64");
    cache.clear();
    expect(cache.get("key 0", "base64")).toBeUndefined();
  });

  test("is one of a bounded number: the most recently requested", () => {
    const cache = memoryWith(1200);
    const embed = () =>
      Array.from({ length: 1200 }, (_, at) => cache.get(`key ${at}`, "base64") as object);
    embed();
    const first = embed();
    const again = Array.from({ length: 1024 }, (_, at) => cache.get(`key ${176 + at}`, "base64"));
    expect(again.every((known, at) => known === first[176 + at])).toBe(true);
    expect(cache.get("key 0", "base64")).not.toBe(first[0] as never);
    expect(cache.get("key 0", "base64")).toEqual({ vector: encodeVector(vectorOf(1)), tokens: 0 });
  });
});

test("every client gets the same response, however often and under whichever model name it was requested before", async () => {
  const fake = startFake();
  const models = `  - { id: ours, kind: embedding, targets: [{ upstream: fake, model: text-embedding-3-small }] }`;
  const yaml = configFor(fake.url).replace("\nkeys:", `\n${models}\nkeys:`);
  const gateway = startGateway({ yaml });
  try {
    for (const encoding_format of ["base64", "float"]) {
      for (const model of ["text-embedding-3-small", "ours"]) {
        const responses: unknown[] = [];
        for (let round = 0; round < 5; round++) {
          const body = { model, input: "again", encoding_format };
          responses.push(await (await gateway.post("/v1/embeddings", body)).json());
        }
        expect(responses[0]).toMatchObject({ model, usage: { prompt_tokens: expect.any(Number) } });
        for (const response of responses) expect(response).toEqual(responses[0] as never);
      }
    }
  } finally {
    await gateway.close();
    fake.close();
  }
});
