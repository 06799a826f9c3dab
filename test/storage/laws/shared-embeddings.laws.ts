/** Laws (contract tests) of `SharedEmbeddings`. */
import { describe, expect } from "bun:test";
import type { SharedEmbeddings } from "../../../server/storage/redis/shared-embeddings.ts";
import { until } from "../../until.ts";
import { type Implementation, lawsOf } from "./backend.ts";

export interface EmbeddingsReplica {
  readonly cache: SharedEmbeddings;
  /** The replica loses its connection for good. */
  close(): Promise<void>;
}

const now = () => 1234;
const keyOf = (text: string): string => Bun.SHA256.hash(text, "base64");
const vectorOf = (seed: number, length = 1536): Float32Array =>
  Float32Array.from({ length }, (_, at) => Math.sin(seed + at));
const bytesOf = (vector: Float32Array): Buffer =>
  Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);

/** A cache that was cleared a moment ago may be unavailable until the clear is done. */
async function get(cache: SharedEmbeddings, ...texts: string[]) {
  let found: Awaited<ReturnType<SharedEmbeddings["get"]>>;
  await until(async () => {
    found = await cache.get(texts.map(keyOf));
    return found !== undefined;
  });
  return found as Exclude<typeof found, undefined>;
}

export function sharedEmbeddingsLaws(implementation: Implementation<EmbeddingsReplica>): void {
  const law = lawsOf(implementation);

  describe(`${implementation.name} shared embeddings`, () => {
    law("a new cache has no embeddings", async (open) => {
      const { cache } = await open(now);
      expect(await get(cache, "one", "two")).toEqual([undefined, undefined]);
      expect(await get(cache)).toEqual([]);
    });

    law("a vector of another replica has exactly its bytes", async (open) => {
      const [{ cache: a }, { cache: b }] = [await open(now), await open(now)];
      const vector = vectorOf(1);
      const odd = Float32Array.of(-0, 1e-45, 3.4028234e38, Number.NaN, Number.NEGATIVE_INFINITY);
      a.add(keyOf("one"), { vector, tokens: 3 });
      a.add(keyOf("two"), { vector: vector.subarray(1, 4), tokens: undefined });
      a.add(keyOf("odd"), { vector: odd, tokens: 0 });
      await a.close();
      expect(await get(b, "one", "absent", "two")).toEqual([
        { vector, tokens: 3, madeAt: 1234 },
        undefined,
        { vector: vector.slice(1, 4), tokens: undefined, madeAt: 1234 },
      ]);
      const [embedding] = await get(b, "odd");
      expect(embedding).toMatchObject({ tokens: 0, madeAt: 1234 });
      expect(bytesOf(embedding!.vector)).toEqual(bytesOf(odd));
    });

    law("a vector is copied when it is added", async (open) => {
      const { cache } = await open(now);
      const vector = vectorOf(1);
      cache.add(keyOf("one"), { vector, tokens: 1 });
      vector.fill(9);
      await cache.close();
      expect((await get(cache, "one"))[0]?.vector).toEqual(vectorOf(1));
    });

    law("a later embedding replaces the earlier one, of any replica", async (open) => {
      const [{ cache: a }, { cache: b }] = [await open(now), await open(() => 5678)];
      a.add(keyOf("one"), { vector: vectorOf(1), tokens: 1 });
      await a.close();
      b.add(keyOf("one"), { vector: vectorOf(2), tokens: 2 });
      await b.close();
      expect(await get(a, "one")).toEqual([{ vector: vectorOf(2), tokens: 2, madeAt: 5678 }]);
    });

    law(
      "all pending embeddings of a large request are written, and found in order",
      async (open) => {
        const [{ cache: a }, { cache: b }] = [await open(now), await open(now)];
        const texts = Array.from({ length: 1000 }, (_, at) => `text ${at}`);
        for (const [at, text] of texts.entries()) {
          a.add(keyOf(text), { vector: vectorOf(at, 8), tokens: at });
        }
        await a.close();
        const order = texts.toReversed();
        const found = await get(b, ...order, order[0]!);
        expect(found.map((each) => each?.tokens)).toEqual([...texts.map((_, at) => 999 - at), 999]);
        for (const each of found) expect(each?.vector).toEqual(vectorOf(each!.tokens!, 8));
      },
    );

    law("after a clear, no replica gets an embedding that was added before it", async (open) => {
      const [{ cache: a }, { cache: b }] = [await open(now), await open(now)];
      a.add(keyOf("one"), { vector: vectorOf(1), tokens: 1 });
      await a.close();
      expect((await get(b, "one"))[0]).toBeDefined();
      b.clear();
      expect(await get(b, "one")).toEqual([undefined]);
      expect(await get(a, "one")).toEqual([undefined]);
      a.add(keyOf("one"), { vector: vectorOf(2), tokens: 2 });
      await a.close();
      expect((await get(b, "one"))[0]?.vector).toEqual(vectorOf(2));
    });

    law(
      "a replica notices that another has cleared the cache, and adds nothing until its listener has settled",
      async (open) => {
        const [{ cache: a }, { cache: b }] = [await open(now), await open(now)];
        const ready = Promise.withResolvers<void>();
        let calls = 0;
        a.onCleared(() => {
          calls++;
          return ready.promise;
        });
        a.add(keyOf("one"), { vector: vectorOf(1), tokens: 1 });
        await a.close();
        expect((await get(a, "one"))[0]).toBeDefined();
        b.clear();
        await get(b, "one");
        a.add(keyOf("two"), { vector: vectorOf(2), tokens: 2 });
        await a.close();
        expect(calls).toBe(1);
        a.add(keyOf("three"), { vector: vectorOf(3), tokens: 3 });
        await a.close();
        expect(await get(b, "two", "three")).toEqual([undefined, undefined]);
        ready.resolve();
        await ready.promise;
        await Bun.sleep(0);
        a.add(keyOf("three"), { vector: vectorOf(4), tokens: 4 });
        await a.close();
        expect((await get(b, "three"))[0]?.vector).toEqual(vectorOf(4));
        a.clear();
        await get(a, "three");
        expect(calls).toBe(1);
      },
    );

    law("a clear drops embeddings that wait to be written", async (open) => {
      const [{ cache: a }, { cache: b }] = [await open(now), await open(now)];
      a.add(keyOf("one"), { vector: vectorOf(1), tokens: 1 });
      a.clear();
      await a.close();
      expect(await get(a, "one")).toEqual([undefined]);
      expect(await get(b, "one")).toEqual([undefined]);
    });

    law("a cache that is unreachable is unavailable, and no call fails", async (open) => {
      const { cache, close } = await open(now);
      await close();
      cache.add(keyOf("one"), { vector: vectorOf(1), tokens: 1 });
      expect(cache.get([keyOf("one")])).toBeUndefined();
      cache.clear();
      await cache.close();
    });
  });
}
