/** Laws (contract tests) of the embedding cache on disk. */
import { describe, expect } from "bun:test";
import type { EmbeddingCacheFile } from "../../../server/storage/sqlite/embedding-cache-file.ts";
import { type Implementation, lawsOf } from "./backend.ts";

/** The time to live of vectors in the implementations under test. */
export const vectorTtlMs = 3_600_000;
/** The most bytes that the implementations under test may store. */
export const vectorMaxBytes = 1024 * 1024;

const start = 1_800_000_000_000;
const keyOf = (at: number): string => Buffer.alloc(32, at).toString("base64");
const vectorOf = (at: number, length = 4): Float32Array =>
  Float32Array.from({ length }, (_, i) => at + i / 8);

async function loadAll(store: EmbeddingCacheFile, most = Infinity) {
  const loaded: { key: string; vector: number[]; tokens: number | undefined; madeAt: number }[] =
    [];
  await store.load((key, vector, tokens, madeAt) => {
    loaded.push({ key, vector: [...vector], tokens, madeAt });
    return loaded.length < most;
  });
  return loaded;
}

export function embeddingCacheStoreLaws(implementation: Implementation<EmbeddingCacheFile>): void {
  const law = lawsOf(implementation);

  describe(`${implementation.name} embedding cache store`, () => {
    law("a new store has no vectors", async (open) => {
      expect(await loadAll(await open(() => start))).toEqual([]);
    });

    law(
      "vectors are bit for bit the same after the store is closed and opened again",
      async (open) => {
        const store = await open(() => start);
        const vector = Float32Array.of(0.1, -0, 1e-38, 3.4e38);
        store.add(keyOf(1), { vector, tokens: 7 });
        store.add(keyOf(2), { vector: vectorOf(2), tokens: undefined });
        await store.close();
        const loaded = await loadAll(await open(() => start));
        expect(loaded.toSorted((a, b) => (a.key < b.key ? -1 : 1))).toEqual([
          { key: keyOf(1), vector: [...vector], tokens: 7, madeAt: start },
          { key: keyOf(2), vector: [...vectorOf(2)], tokens: undefined, madeAt: start },
        ]);
      },
    );

    law("a vector is copied when it is added", async (open) => {
      const store = await open(() => start);
      const vector = vectorOf(1);
      store.add(keyOf(1), { vector, tokens: 1 });
      vector.fill(9);
      await store.close();
      expect((await loadAll(await open(() => start)))[0]?.vector).toEqual([...vectorOf(1)]);
    });

    law(
      "the most recently used vectors are loaded first, until the cache is full",
      async (open) => {
        let now = start;
        const first = await open(() => now);
        for (const at of [1, 2, 3]) first.add(keyOf(at), { vector: vectorOf(at), tokens: 1 });
        await first.close();
        now += 1000;
        const second = await open(() => now);
        second.touch(keyOf(1));
        await second.close();
        const third = await open(() => now);
        expect((await loadAll(third))[0]?.key).toBe(keyOf(1));
        expect(await loadAll(third, 2)).toHaveLength(2);
      },
    );

    law("a vector expires by its age, and use does not extend it", async (open) => {
      let now = start;
      const first = await open(() => now);
      first.add(keyOf(1), { vector: vectorOf(1), tokens: 1 });
      await first.close();
      now += vectorTtlMs - 1;
      const second = await open(() => now);
      expect(await loadAll(second)).toHaveLength(1);
      second.touch(keyOf(1));
      await second.close();
      now += 2;
      expect(await loadAll(await open(() => now))).toEqual([]);
    });

    law("the oldest vectors are evicted at the size limit", async (open) => {
      let now = start;
      const store = await open(() => now);
      const length = 8 * 1024;
      for (let at = 0; at < 64; at++) {
        store.add(keyOf(at), { vector: vectorOf(at, length), tokens: 1 });
      }
      await store.close();
      now += 1;
      const loaded = await loadAll(await open(() => now));
      const bytes = loaded.reduce((sum, { vector }) => sum + vector.length * 4, 0);
      expect(loaded.length).toBeGreaterThan(4);
      expect(bytes).toBeLessThanOrEqual(vectorMaxBytes);
      const keys = new Set(loaded.map(({ key }) => key));
      expect(keys.has(keyOf(63))).toBe(true);
      expect(keys.has(keyOf(0))).toBe(false);
    });

    law("a cleared store is empty, also of vectors that were queued for writing", async (open) => {
      const store = await open(() => start);
      store.add(keyOf(1), { vector: vectorOf(1), tokens: 1 });
      await store.clear();
      await store.close();
      expect(await loadAll(await open(() => start))).toEqual([]);
    });

    law("a later vector of the same key replaces the earlier one", async (open) => {
      const first = await open(() => start);
      first.add(keyOf(1), { vector: vectorOf(1), tokens: 1 });
      await first.close();
      const second = await open(() => start);
      second.add(keyOf(1), { vector: vectorOf(2), tokens: 2 });
      await second.close();
      expect((await loadAll(await open(() => start)))[0]?.vector).toEqual([...vectorOf(2)]);
    });

    law("a closed store ignores all calls", async (open) => {
      const store = await open(() => start);
      await store.close();
      await store.close();
      store.add(keyOf(1), { vector: vectorOf(1), tokens: 1 });
      store.touch(keyOf(1));
      await store.clear();
      expect(await loadAll(store)).toEqual([]);
    });
  });
}
