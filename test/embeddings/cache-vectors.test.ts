/** A cached vector is exact to the bit, in either encoding, whatever is evicted and replaced around it. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { EmbeddingCache } from "../../server/embeddings/cache/embedding-cache.ts";
import { decodeVector, encodeVector } from "../../server/embeddings/vector-formats.ts";
import type { Vector } from "../../server/upstream/contract.ts";
import { tries } from "../depth.ts";
import { startFake } from "../fake-upstream.ts";
import { configFor, startGateway, temporaryFolder } from "../harness.ts";
import { keyFor, openCacheFile } from "./cache-file-fixture.ts";

const KiB = 1024;
const _encodings = ["float", "base64"] as const;

/** No two seeds have a number in common, so that no vector is mistaken for another. */
const vectorOf = (seed: number, length: number): Float32Array =>
  Float32Array.from({ length }, (_, at) => seed + (at + 1) / 1024);

/** To compare bit by bit: there are several NaNs, and two zeros. */
const bitsOf = (vector: Vector | undefined): string | undefined =>
  vector === undefined ? undefined : encodeVector(vector);

const _forms = {
  base64: encodeVector,
  numbers: (vector: Float32Array) => Array.from(vector),
  floats: (vector: Float32Array) => vector.slice(),
} as const;

describe("a cached vector", () => {
  test("is accepted as base64 exactly where a strict decoder accepts it, and changes no other vector", () => {
    const whole = fc
      .constantFrom(4, 8, 12, 24)
      .chain((length) =>
        fc
          .uint8Array({ minLength: length, maxLength: length })
          .map((bytes) => Buffer.from(bytes).toString("base64")),
      );
    const put = fc.constantFrom(..."| |    |\n\t|=|==|-|_|A|B|/|é|中".split("|"));
    const invalid = fc
      .tuple(whole, fc.nat(32), fc.nat(4), put)
      .map(([text, at, gone, put]) => text.slice(0, at) + put + text.slice(at + gone));
    const text = fc.oneof(whole, invalid, fc.string({ maxLength: 12 }));
    fc.assert(
      fc.property(text, (text) => {
        const cache = new EmbeddingCache({ maxBytes: 100 * KiB });
        const neighbor = vectorOf(1, 128);
        for (const key of ["before", "between", "after"]) {
          cache.set(key, { vector: neighbor, tokens: 1 });
        }
        const decoded = decodeVector(text);
        expect(cache.set("between", { vector: text, tokens: 1 })).toBe(decoded !== undefined);
        expect(bitsOf(cache.get("between", "float")?.vector)).toBe(
          decoded ? text : bitsOf(neighbor),
        );
        for (const key of ["before", "after"]) {
          expect(bitsOf(cache.get(key, "float")?.vector)).toBe(bitsOf(neighbor));
        }
      }),
      // The last one has bits after its end, which a lenient decoder ignores.
      { ...tries(2000), examples: [["AACAPw=="], ["AACAPw"], ["AACAPx=="]] },
    );
  });

  test("is validated even if nothing is cached", () => {
    const cache = new EmbeddingCache({ maxBytes: 0 });
    const set = (vector: string) => cache.set("a", { vector, tokens: 1 });
    expect([set("AACAPw=="), set("AACAPw"), set("AACA"), set("AAC?Pw==")]).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });

  test("that is evicted before it is on disk is not lost", async () => {
    using folder = temporaryFolder();
    const first = openCacheFile(folder.path);
    const cache = new EmbeddingCache({ maxBytes: 4 * KiB, persistence: first });
    const lengthOf = (i: number) => 1 + ((i * 37) % 500);
    for (let i = 0; i < 200; i++) {
      const vector = vectorOf(i, lengthOf(i));
      cache.set(keyFor(i), { vector: i % 2 ? encodeVector(vector) : vector, tokens: i });
    }
    first.close();
    const second = openCacheFile(folder.path);
    const found: number[] = [];
    await second.load((key, vector, tokens = -1) => {
      expect(key).toBe(keyFor(tokens));
      expect(bitsOf(vector)).toBe(bitsOf(vectorOf(tokens, lengthOf(tokens))));
      return found.push(tokens) > 0;
    });
    second.close();
    expect(found).toHaveLength(200);
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
