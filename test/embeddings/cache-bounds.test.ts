/** The embedding cache stays within its byte limit, in accounted bytes and in the memory of a process. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  EmbeddingCache,
  entryOverhead,
  textShare,
} from "../../server/embeddings/cache/embedding-cache.ts";
import { tries } from "../depth.ts";

const vectorOf = (seed: number, length = 8): Float32Array =>
  Float32Array.from({ length }, (_, at) => seed + at / 16);
const entryBytes = 8 * 4 + entryOverhead;

/** A cache for exactly this many vectors of eight numbers. */
function cacheFor(entries: number) {
  const evictions: string[] = [];
  const cache = new EmbeddingCache({
    maxBytes: Math.ceil((entries * entryBytes) / (1 - textShare)),
    persistence: {
      add: (key) => evictions.push(`add ${key}`),
      touch: (key) => evictions.push(`used ${key}`),
      clear: async () => void evictions.push("clear"),
    },
  });
  const addVector = (...keys: string[]) => {
    for (const key of keys) {
      cache.set(key, { vector: vectorOf(key.charCodeAt(0)), tokens: 1 });
    }
  };
  const evicted = (keys: string) => [...keys].filter((key) => !cache.has(key));
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

  test("rejects a vector larger than itself, and evicts nothing for it", () => {
    const { cache, addVector } = cacheFor(2);
    addVector("a");
    expect(cache.set("large", { vector: vectorOf(1, 1000), tokens: 5 })).toBe(true);
    expect(cache.get("large", "float")).toBeUndefined();
    expect(cache.size).toBe(1);
  });

  test("does not return the earlier vector of a key after a vector that is too large", () => {
    const { cache, addVector } = cacheFor(2);
    addVector("a");
    expect(cache.set("a", { vector: vectorOf(1, 1000), tokens: 5 })).toBe(true);
    expect([cache.size, cache.bytes, cache.get("a", "float")]).toEqual([0, 0, undefined]);
  });
});

describe("vectors of one response, which share memory,", () => {
  const dimensions = 256;
  const count = 40;
  const responseOf = (at: number) => {
    const keys = Array.from({ length: count }, (_, index) => `${at} ${index}`);
    const vectors = keys.map((_, index) => new Float32Array(dimensions).fill(at + index / count));
    return { keys, vectors, tokens: keys.map(() => 1) };
  };
  const bytesOfVectors = () => {
    Bun.gc(true);
    return process.memoryUsage().arrayBuffers;
  };

  test("take no more memory than the limit, although one vector of each of 1,000 responses survives", () => {
    const maxBytes = 4 * 1024 * 1024;
    const before = bytesOfVectors();
    const cache = new EmbeddingCache({ maxBytes });
    for (let at = 0; at < 1000; at++) {
      const { keys, vectors, tokens } = responseOf(at);
      expect(cache.setAll(keys, vectors, tokens)).toBe(true);
      expect(cache.get(`${at} 7`, "float")).toBeDefined();
      expect(cache.bytes).toBeLessThanOrEqual(maxBytes);
    }
    const survivors = Array.from({ length: 1000 }, (_, at) => cache.get(`${at} 7`, "float"));
    for (const [at, found] of survivors.entries())
      expect(found?.vector ?? new Float32Array(dimensions).fill(at + 7 / count)).toEqual(
        new Float32Array(dimensions).fill(at + 7 / count),
      );
    expect(survivors.filter(Boolean).length).toBeGreaterThan(900);
    expect(bytesOfVectors() - before).toBeLessThan(maxBytes + survivors.length * dimensions * 4);
  });

  test("are counted whole until the last of them is evicted or replaced, and then not at all", () => {
    const cache = new EmbeddingCache({ maxBytes: 64 * 1024 * 1024 });
    const { keys, vectors, tokens } = responseOf(1);
    cache.setAll(keys, vectors, tokens);
    const whole = cache.bytes;
    const one = { vector: new Float32Array(1).fill(1), tokens: 1 };
    for (const key of keys.slice(1)) cache.set(key, one);
    expect(cache.bytes).toBe(whole + (count - 1) * 4);
    cache.set(keys[0] as string, one);
    expect(cache.bytes).toBe(whole - count * dimensions * 4 + count * 4);
  });

  test("keep their values, whatever is evicted, used, replaced and added again", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(60), fc.nat(12), fc.nat(40)), { maxLength: 200 }),
        (steps) => {
          const cache = new EmbeddingCache({ maxBytes: 300_000 });
          const expected = new Map<string, number>();
          let value = 0;
          for (const [first, size, used] of steps) {
            const keys = Array.from({ length: size }, (_, at) => `${first + at}`);
            const vectors = keys.map(() => new Float32Array(500).fill(++value));
            for (const [at, key] of keys.entries()) expected.set(key, vectors[at]![0]!);
            cache.setAll(keys, vectors, []);
            for (const key of [`${used}`, `${used + 20}`]) {
              const found = cache.get(key, "float")?.vector as Float32Array | undefined;
              if (found) expect(found).toEqual(new Float32Array(500).fill(expected.get(key)!));
            }
            expect(cache.bytes).toBeLessThanOrEqual(300_000);
          }
        },
      ),
      tries(300),
    );
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
  test("is evicted in the order of use, after new vectors without a hit", () => {
    const { cache, addVector } = cacheFor(4);
    addVector("z");
    const restored = [..."abcde"].map((key) => cache.restore(key, vectorOf(1), 1));
    expect(restored).toEqual([true, true, true, false, false]);
    addVector("y");
    expect(["z", ..."abcy"].filter((key) => cache.has(key)).join("")).toBe("abcy");
    cache.get("y", "float");
    addVector("x");
    expect([..."abcyx"].filter((key) => cache.has(key)).join("")).toBe("abyx");
  });

  test("does not replace a vector that was cached meanwhile", () => {
    const { cache, addVector } = cacheFor(4);
    addVector("a");
    expect(cache.restore("a", vectorOf(9), 9)).toBe(true);
    expect(cache.get("a", "float")?.vector).toEqual(vectorOf(97));
    expect(cache.size).toBe(1);
  });
});

test("after any order of set, get and restore, size and bytes are those of the entries, within the limit", () => {
  const step = fc.tuple(fc.constantFrom("set", "get", "restore"), fc.constantFrom(..."abcdefg"));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.nat({ max: 5 }), (steps, maxEntries) => {
      const { cache } = cacheFor(maxEntries);
      for (const [what, key] of steps) {
        const held = cache.has(key);
        const isFull = cache.size === maxEntries;
        if (what === "get") expect(cache.get(key, "float") !== undefined).toBe(held);
        if (what === "set") {
          cache.set(key, { vector: vectorOf(1), tokens: 1 });
          expect(cache.has(key)).toBe(maxEntries > 0);
        }
        if (what === "restore") expect(cache.restore(key, vectorOf(1), 1)).toBe(held || !isFull);
        const count = [..."abcdefg"].filter((other) => cache.has(other)).length;
        expect([cache.size, cache.bytes]).toEqual([count, count * entryBytes]);
        expect(count).toBeLessThanOrEqual(maxEntries);
        // An eviction makes space for one new entry only.
        if (isFull && maxEntries > 0) expect(count).toBe(maxEntries);
      }
    }),
    tries(500),
  );
});

describe("the base64 text of a cached vector", () => {
  const textOf = (seed: number, length = 8): string =>
    Buffer.from(vectorOf(seed, length).buffer).toString("base64");

  test("is that of the vector that was set last", () => {
    const { cache } = cacheFor(20);
    const set = (seed: number) => cache.set("a", { vector: vectorOf(seed), tokens: 1 });
    const read = () => cache.get("a", "base64")?.vector.toString();
    set(1);
    expect([read(), read()]).toEqual([textOf(1), textOf(1)]);
    set(2);
    expect(read()).toBe(textOf(2));
    cache.clearMemory();
    expect(read()).toBeUndefined();
    set(3);
    expect(read()).toBe(textOf(3));
    // Only entries that are used evict one that was used.
    for (let at = 0; at < 100; at++) {
      cache.set(`${at}`, { vector: vectorOf(at), tokens: 1 });
      cache.get(`${at}`, "float");
    }
    expect(read()).toBeUndefined();
    set(4);
    expect(read()).toBe(textOf(4));
  });

  test("counts within the byte limit", () => {
    const maxBytes = 1_000_000;
    const cache = new EmbeddingCache({ maxBytes });
    for (let at = 0; at < 1000; at++) {
      cache.set(`${at}`, { vector: vectorOf(at, 1024), tokens: 1 });
      const before = cache.bytes;
      expect(String(cache.get(`${at}`, "base64")?.vector)).toBe(textOf(at, 1024));
      if (at === 0) expect(cache.bytes).toBeGreaterThan(before + textOf(0, 1024).length);
      expect(cache.bytes).toBeLessThanOrEqual(maxBytes);
    }
  });
});
