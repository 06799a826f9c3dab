/** Cached vectors share slabs that are reused, which is visible only in the memory they take. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  EmbeddingCache,
  type EmbeddingCacheOptions,
  entryOverhead,
} from "../../server/embeddings/cache/embedding-cache.ts";
import { slotSizeClassOf } from "../../server/embeddings/cache/slab-allocator.ts";
import { decodeVector, encodeVector } from "../../server/embeddings/vector-formats.ts";
import type { Vector } from "../../server/upstream/contract.ts";
import { tries } from "../depth.ts";
import { randomFrom } from "../fuzz/routing-simulation.ts";
import { temporaryFolder } from "../harness.ts";
import { keyFor, openCacheFile } from "./cache-file-fixture.ts";

const KiB = 1024;
const encodings = ["float", "base64"] as const;

/** No two seeds have a number in common, so that no vector is mistaken for another. */
const vectorOf = (seed: number, length: number): Float32Array =>
  Float32Array.from({ length }, (_, at) => seed + (at + 1) / 1024);

/** To compare bit by bit: there are several NaNs, and two zeros. */
const bitsOf = (vector: Vector | undefined): string | undefined =>
  vector === undefined ? undefined : encodeVector(vector);

const forms = {
  base64: encodeVector,
  numbers: (vector: Float32Array) => Array.from(vector),
  floats: (vector: Float32Array) => vector.slice(),
} as const;

describe("a slot", () => {
  test("fits the usual lengths exactly, wastes little on others, and has few size classes", () => {
    for (const dimensions of [128, 256, 384, 512, 768, 896, 1024, 1536, 2048, 2560, 3072, 4096]) {
      expect(slotSizeClassOf(dimensions * 4)).toBe(dimensions * 4);
    }
    const sizes = new Set<number>();
    for (let bytes = 512; bytes <= 16 * KiB; bytes += 4) {
      const slot = slotSizeClassOf(bytes);
      sizes.add(slot);
      expect(slot).toBeGreaterThanOrEqual(bytes);
      expect(slot).toBeLessThanOrEqual(bytes * 1.125);
      // Numbers begin at multiples of four.
      expect(slot % 64).toBe(0);
    }
    expect(sizes.size).toBeLessThanOrEqual(41);
  });

  test("returns every bit that was written, in either encoding", () => {
    const bits = fc.uint32Array({ minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(bits, fc.boolean(), (bits, text) => {
        const cache = new EmbeddingCache({ maxBytes: 100 * KiB });
        const vector = new Float32Array(bits.slice().buffer);
        const base64 = encodeVector(vector);
        cache.set("a", { vector: text ? base64 : vector, tokens: 1 });
        for (const encoding of encodings) {
          expect(bitsOf(cache.get("a", encoding)?.vector)).toBe(base64);
        }
      }),
      tries(300),
    );
  });

  test("accepts base64 exactly where a strict decoder does, without a change to its neighbors", () => {
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
        const [decoded, size] = [decodeVector(text), cache.size];
        expect(cache.set("between", { vector: text, tokens: 1 })).toBe(decoded !== undefined);
        expect(bitsOf(cache.get("between", "float")?.vector)).toBe(
          decoded ? text : cache.size === size ? bitsOf(neighbor) : undefined,
        );
        for (const key of ["before", "after"]) {
          expect(bitsOf(cache.get(key, "float")?.vector)).toBe(bitsOf(neighbor));
        }
      }),
      // The last one has bits after its end, which a lenient decoder ignores.
      { ...tries(2000), examples: [["AACAPw=="], ["AACAPw"], ["AACAPx=="]] },
    );
  });

  test("is not needed to detect a value that is not a vector", () => {
    const cache = new EmbeddingCache({ maxBytes: 0 });
    const set = (vector: string) => cache.set("a", { vector, tokens: 1 });
    expect([set("AACAPw=="), set("AACAPw"), set("AACA"), set("AAC?Pw==")]).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });
});

describe("with vectors of any length", () => {
  const lengths = [1, 128, 129, 300, 513, 700];
  const step = fc.record({
    what: fc.constantFrom("set", "set", "get", "restore", "set invalid"),
    key: fc.nat(11),
    form: fc.constantFrom("base64", "numbers", "floats"),
    encoding: fc.constantFrom(...encodings),
  });
  const geometry = fc.record({
    pageBytes: fc.constantFrom(512, 1280, 2304, 6000),
    pages: fc.integer({ min: 1, max: 4 }),
    entries: fc.integer({ min: 1, max: 12 }),
  });

  test("a key returns its own vector, and responses in flight do not change when it is evicted", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), geometry, (steps, limits) => {
        const { pageBytes } = limits;
        const maxBytes = limits.pages * pageBytes + limits.entries * entryOverhead;
        const cache = new EmbeddingCache({ maxBytes, slabBytes: pageBytes });
        /** The bits of the latest vector of each key. All vectors of a key have one length. */
        const latest = new Map<string, string>();
        const responses: { readonly vector: Vector; readonly expected: string }[] = [];
        for (const [at, { what, key: number, form, encoding }] of steps.entries()) {
          const key = `key ${number}`;
          const vector = vectorOf(at + 1, lengths[number % lengths.length] as number);
          if (what === "set") {
            expect(cache.set(key, { vector: forms[form](vector), tokens: at })).toBe(true);
            latest.set(key, encodeVector(vector));
            const fits = slotSizeClassOf(vector.byteLength) <= pageBytes;
            const known = cache.get(key, encoding);
            expect(known?.tokens).toBe(fits ? at : undefined);
          }
          if (what === "restore") {
            const held = cache.get(key, encoding) !== undefined;
            if (cache.restore(key, vector, at) && !held) latest.set(key, encodeVector(vector));
          }
          if (what === "set invalid") {
            expect(cache.set(key, { vector: `${encodeVector(vector)}=`, tokens: 0 })).toBe(false);
          }
          const known = cache.get(key, encoding);
          if (known) {
            expect(typeof known.vector).toBe(encoding === "base64" ? "string" : "object");
            responses.push({ vector: known.vector, expected: latest.get(key) as string });
          } else latest.delete(key);
          expect(cache.bytes).toBeLessThanOrEqual(maxBytes);
        }
        for (const { vector, expected } of responses) expect(bitsOf(vector)).toBe(expected);
      }),
      tries(1500),
    );
  });

  test("a key returns its own vector while used entries move out of the slabs that are cleared", () => {
    for (const [run, maxBytes] of [20_000, 70_000, 300_000].entries()) {
      const random = randomFrom(run + 1);
      const pick = (count: number): number => Math.floor(random() * count);
      const cache = new EmbeddingCache({ maxBytes, slabBytes: 8 * KiB });
      const latest = new Map<string, string>();
      let hits = 0;
      for (let at = 1; at <= 12_000; at++) {
        // Some keys are used again and again. The lengths in demand change, so that slabs are cleared.
        const key = random() < 0.5 ? `used ${pick(60)}` : `new ${pick(5000)}`;
        const length = lengths[(Math.floor(at / 2000) + pick(2)) % lengths.length] as number;
        if (random() < 0.4) {
          const vector = vectorOf(at, length);
          cache.set(key, { vector, tokens: at }, random() < 0.1);
          latest.set(key, encodeVector(vector));
        } else {
          const known = cache.get(key, encodings[pick(2)] as "float" | "base64");
          if (!known) continue;
          hits++;
          expect(bitsOf(known.vector)).toBe(latest.get(key));
        }
        expect(cache.bytes).toBeLessThanOrEqual(maxBytes);
      }
      expect(hits).toBeGreaterThan(100);
    }
  });

  test("at most one slab's entries are evicted for one vector, and that vector is cached", () => {
    const pageBytes = 64 * KiB;
    const cache = new EmbeddingCache({ maxBytes: 2048 * KiB, slabBytes: pageBytes });
    let sizes = 1;
    for (let i = 0; i < 6000; i++) {
      sizes = (sizes * 48_271) % 2_147_483_647;
      // First mostly long vectors, then mostly short ones.
      const length = (i >> 10) % 2 ? 1 + (sizes % 300) : 1 + (sizes % 4000);
      const before = cache.size;
      cache.set(`key ${i}`, { vector: vectorOf(i, length), tokens: i });
      expect(before - cache.size).toBeLessThanOrEqual(pageBytes / slotSizeClassOf(1));
      expect(cache.get(`key ${i}`, "float")?.vector).toHaveLength(length);
    }
  });

  /** The share of the byte limit that vectors and entries take. */
  function fill(cache: EmbeddingCache, maxBytes: number, length: number, rounds: number): number {
    const entryBytes = slotSizeClassOf(length * 4) + entryOverhead;
    const count = Math.ceil((maxBytes / entryBytes) * rounds);
    const vector = vectorOf(1, length);
    for (let i = 0; i < count; i++) cache.set(`${length}: ${i}`, { vector, tokens: 1 });
    let held = 0;
    for (let i = 0; i < count; i++) if (cache.get(`${length}: ${i}`, "float")) held++;
    return (held * entryBytes) / maxBytes;
  }

  test("the slabs move to the size class that is in demand", () => {
    const maxBytes = 4096 * KiB;
    const cache = new EmbeddingCache({ maxBytes });
    for (const length of [3072, 128, 1536, 384, 3072, 768]) {
      expect(fill(cache, maxBytes, length, 2)).toBeGreaterThan(0.8);
      expect(cache.bytes).toBeLessThanOrEqual(maxBytes);
    }
  });

  test("a rare length is cached beside a frequent one", () => {
    const maxBytes = 2048 * KiB;
    const cache = new EmbeddingCache({ maxBytes });
    const set = (key: string, length: number) =>
      cache.set(key, { vector: vectorOf(1, length), tokens: 1 });
    fill(cache, maxBytes, 1536, 2);
    const others = 20;
    for (let i = 0; i < others; i++) {
      set(`rare ${i}`, 384);
      for (let j = 0; j < 5; j++) set(`usual ${i} ${j}`, 1536);
    }
    for (let i = 0; i < others; i++) expect(cache.get(`rare ${i}`, "float")).toBeDefined();
    for (let i = 0; i < others; i++) {
      for (let j = 0; j < 5; j++) expect(cache.get(`usual ${i} ${j}`, "float")).toBeDefined();
    }
  });
});

describe("slabs", () => {
  const pageBytes = 64 * KiB;
  const start = (options: Partial<EmbeddingCacheOptions> = {}) =>
    new EmbeddingCache({ maxBytes: 1024 * KiB, slabBytes: pageBytes, ...options });

  test("are allocated on demand, and reused for ten times what fits", () => {
    const cache = start();
    const perPage = Math.floor(pageBytes / (384 * 4));
    const pageCounts: number[] = [];
    for (let i = 0; i < 10 * 540; i++) {
      cache.set(`key ${i}`, { vector: vectorOf(i, 384), tokens: 1 });
      const pages = (cache.bytes - cache.size * entryOverhead) / pageBytes;
      if (cache.size === i + 1) expect(pages).toBe(Math.ceil(cache.size / perPage));
      else pageCounts.push(pages);
    }
    // From then on no slab is allocated and none is freed.
    expect(new Set(pageCounts).size).toBe(1);
    expect(cache.size).toBeGreaterThan(500);
  });

  test("that are overwritten before their vectors are on disk lose no vector", async () => {
    using folder = temporaryFolder();
    const first = openCacheFile(folder.path);
    const cache = start({
      maxBytes: 3 * (2 * KiB + entryOverhead),
      slabBytes: 2 * KiB,
      persistence: first,
    });
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
