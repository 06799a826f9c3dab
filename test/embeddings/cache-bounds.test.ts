/** The embedding cache stays within its byte limit and evicts the least recently used entry. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { EmbeddingCache, entryOverhead } from "../../server/embeddings/cache/embedding-cache.ts";
import { slotSizeClassOf } from "../../server/embeddings/cache/slab-allocator.ts";
import { dimensionsOf } from "../../server/embeddings/vector-formats.ts";
import { tries } from "../depth.ts";

const vectorOf = (seed: number, length = 8): Float32Array =>
  Float32Array.from({ length }, (_, at) => seed + at / 16);
const slot = slotSizeClassOf(8 * 4);
const entryBytes = slot + entryOverhead;

/** A cache for exactly this many vectors of eight numbers: each has its own slab. */
function cacheFor(entries: number) {
  const evictions: string[] = [];
  const cache = new EmbeddingCache({
    maxBytes: entries * entryBytes,
    slabBytes: slot,
    persistence: {
      add: (key) => evictions.push(`add ${key}`),
      remove: (keys) => evictions.push(`remove ${keys}`),
      touch: (key) => evictions.push(`used ${key}`),
      clear: async () => void evictions.push("clear"),
    },
  });
  const addVector = (...keys: string[]) => {
    for (const key of keys) {
      cache.set(key, { vector: vectorOf(key.charCodeAt(0)), tokens: 1 });
    }
  };
  /** The keys of a full cache, read without counting as a use. */
  const evicted = (keys: string) => [...keys].filter((key) => !cache.restore(key, vectorOf(0), 0));
  return { cache, addVector, evictions, evicted };
}

describe("a full cache", () => {
  test("stays within its byte limit after ten times as many bytes, and holds the newest entries", () => {
    const { cache } = cacheFor(500);
    for (let i = 0; i < 5000; i++) {
      cache.set(`key ${i}`, { vector: vectorOf(i), tokens: i });
      expect(cache.bytes).toBeLessThanOrEqual(500 * entryBytes);
    }
    expect([cache.size, cache.bytes]).toEqual([500, 500 * entryBytes]);
    for (let i = 4500; i < 5000; i++) {
      expect(cache.get(`key ${i}`, "float")).toMatchObject({ vector: vectorOf(i), tokens: i });
    }
    for (let i = 0; i < 4500; i++) expect(cache.get(`key ${i}`, "float")).toBeUndefined();
  });

  test("counts whole slabs, plus the overhead of each entry", () => {
    const [maxBytes, pageBytes] = [100_000, 9000];
    const cache = new EmbeddingCache({ maxBytes, slabBytes: pageBytes });
    let sizes = 1;
    for (let i = 0; i < 3000; i++) {
      sizes = (sizes * 48_271) % 2_147_483_647;
      const vector = vectorOf(i, 1 + (sizes % 2000));
      cache.set(`key ${sizes % 700}`, { vector, tokens: undefined });
      expect(cache.bytes).toBeLessThanOrEqual(maxBytes);
      expect((cache.bytes - cache.size * entryOverhead) % pageBytes).toBe(0);
    }
    let [held, slots] = [0, 0];
    for (let key = 0; key < 700; key++) {
      const known = cache.get(`key ${key}`, "float");
      if (!known) continue;
      held++;
      slots += slotSizeClassOf(dimensionsOf(known.vector) * 4);
    }
    expect(cache.size).toBe(held);
    expect(slots + held * entryOverhead).toBeLessThanOrEqual(cache.bytes);
    // Slabs as small as these have much unused space. The cache fills up nevertheless.
    expect(slots + held * entryOverhead).toBeGreaterThan(maxBytes / 3);
  });

  test("evicts in constant time, however many entries were evicted before", () => {
    const entries = 20_000;
    const { cache } = cacheFor(entries);
    const vector = vectorOf(1);
    const keys = Array.from({ length: entries * 3 }, (_, at) => `key ${at}`);
    const turn = () => {
      const before = process.cpuUsage();
      for (const key of keys) cache.set(key, { vector, tokens: 1 });
      const { user, system } = process.cpuUsage(before);
      return (user + system) / keys.length;
    };
    turn();
    // In microseconds. Walking past all evicted entries would take a hundred or more.
    expect(turn()).toBeLessThan(20);
  });

  test("evicts the least recently used entry", () => {
    const { cache, addVector, evicted } = cacheFor(3);
    addVector("a", "b", "c");
    cache.get("a", "float");
    addVector("d");
    expect(evicted("abcd")).toEqual(["b"]);
    cache.get("c", "float");
    cache.get("c", "float");
    addVector("e");
    expect(evicted("abcde")).toEqual(["a", "b"]);
  });

  test("rejects a vector larger than a slab, and evicts nothing for it", () => {
    const { cache, addVector } = cacheFor(2);
    addVector("a");
    expect(cache.set("large", { vector: vectorOf(1, 1000), tokens: 5 })).toBe(true);
    expect(cache.get("large", "float")).toBeUndefined();
    expect(cache.size).toBe(1);
  });

  test("of zero bytes caches nothing", () => {
    const cache = new EmbeddingCache({ maxBytes: 0 });
    cache.set("a", { vector: vectorOf(1), tokens: 1 });
    expect([cache.size, cache.bytes, cache.get("a", "float")]).toEqual([0, 0, undefined]);
  });
});

describe("a cached vector", () => {
  test("has its own bytes, and does not change with the response it came in", () => {
    const { cache } = cacheFor(3);
    const response = new Float32Array(1_000_000).fill(0.5);
    cache.set("a", { vector: response.subarray(1000, 1008), tokens: 1 });
    response.fill(7);
    expect(cache.get("a", "float")?.vector).toEqual(new Float32Array(8).fill(0.5));
  });

  test("is replaced by a newer one under the same key, and counted once", () => {
    const { cache, addVector } = cacheFor(3);
    addVector("a", "b");
    cache.set("a", { vector: vectorOf(5), tokens: 9 });
    expect(cache.get("a", "float")).toMatchObject({ vector: vectorOf(5), tokens: 9 });
    expect([cache.size, cache.bytes]).toEqual([2, 2 * entryBytes]);
  });
});

describe("a restored vector", () => {
  test("is older than the vectors of this process, in the order of use, until the cache is full", () => {
    const { cache, addVector } = cacheFor(4);
    addVector("z");
    const restored = [..."abcde"].map((key) => cache.restore(key, vectorOf(1), 1));
    expect(restored).toEqual([true, true, true, false, false]);
    addVector("y");
    expect(cache.get("c", "float")).toBeUndefined();
    addVector("x");
    expect(cache.get("b", "float")).toBeUndefined();
    expect([..."zayx"].every((key) => cache.get(key, "float"))).toBe(true);
  });

  test("does not replace a vector that was cached meanwhile", () => {
    const { cache, addVector } = cacheFor(4);
    addVector("a");
    expect(cache.restore("a", vectorOf(9), 9)).toBe(true);
    expect(cache.get("a", "float")?.vector).toEqual(vectorOf(97));
    expect(cache.size).toBe(1);
  });
});

test("any order of set, get and restore has the same result as a plain list", () => {
  const step = fc.tuple(fc.constantFrom("set", "get", "restore"), fc.constantFrom(..."abcdefg"));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.nat({ max: 5 }), (steps, maxEntries) => {
      const { cache } = cacheFor(maxEntries);
      /** Newest first. */
      let list: string[] = [];
      for (const [what, key] of steps) {
        const held = list.includes(key);
        const others = list.filter((other) => other !== key);
        if (what === "get") expect(cache.get(key, "float") !== undefined).toBe(held);
        if (what === "set") cache.set(key, { vector: vectorOf(1), tokens: 1 });
        if (what === "restore") {
          expect(cache.restore(key, vectorOf(1), 1)).toBe(held || list.length < maxEntries);
          if (!held && list.length < maxEntries) list.push(key);
        } else if (held || what === "set") list = [key, ...others].slice(0, maxEntries);
        expect([cache.size, cache.bytes]).toEqual([list.length, list.length * entryBytes]);
      }
    }),
    tries(500),
  );
});

test("persistence is called for each new vector and each use, and not for vectors that it restored", () => {
  const { cache, addVector, evictions } = cacheFor(4);
  addVector("a");
  cache.restore("b", vectorOf(1), 1);
  cache.get("a", "float");
  cache.get("b", "float");
  cache.get("c", "float");
  expect(evictions).toEqual(["add a", "used a", "used b"]);
});
