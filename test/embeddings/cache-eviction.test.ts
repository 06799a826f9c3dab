/** Eviction by S3-FIFO: a scan of many new texts keeps the texts that are used, and the cache adapts to other texts. */
import { describe, expect, test } from "bun:test";
import { cacheStage } from "../../server/embeddings/cache/cache-stage.ts";
import {
  EmbeddingCache,
  entryOverhead,
  textShare,
} from "../../server/embeddings/cache/embedding-cache.ts";
import { SingleFlight } from "../../server/embeddings/single-flight.ts";
import { type EmbeddingsRequest, model, requestFor, responseTo } from "./stage-fixture.ts";

const vectorOf = (seed: number, length: number): Float32Array =>
  new Float32Array(length).map((_, at) => seed + at / 16);

const capacity = 1000;
/** A cache for `capacity` vectors of 256 numbers. */
const newCache = (expiry?: { ttlMs: number; now: () => number }): EmbeddingCache =>
  new EmbeddingCache({
    maxBytes: Math.ceil((capacity * (256 * 4 + entryOverhead)) / (1 - textShare)),
    ...(expiry && { expiry }),
  });

/** Gets each key, and sets it if it is not cached. Returns the share of hits. */
const use = (cache: EmbeddingCache, name: string, count: number, length = 256): number => {
  let hits = 0;
  for (let at = 0; at < count; at++) {
    if (cache.get(`${name} ${at}`, "base64")) hits++;
    else cache.set(`${name} ${at}`, { vector: vectorOf(at, length), tokens: at });
  }
  return hits / count;
};
const shareOf = (cache: EmbeddingCache, name: string, count: number): number => {
  let held = 0;
  for (let at = 0; at < count; at++) if (cache.has(`${name} ${at}`)) held++;
  return held / count;
};

describe.each([
  ["a cache", undefined],
  ["a cache with a TTL", { ttlMs: 1e9, now: () => 0 }],
])("%s", (_, expiry) => {
  test.each([64, 1536])(
    "keeps entries with a hit through a scan of ten times its capacity, of vectors of %i numbers",
    (length) => {
      const cache = newCache(expiry);
      const count = capacity * 0.8;
      for (let round = 0; round < 2; round++) use(cache, "used", count);
      use(cache, "scan", 10 * capacity, length);
      expect(shareOf(cache, "used", count)).toBeGreaterThan(0.95);
      for (let at = 0; at < count; at++) {
        const known = cache.get(`used ${at}`, "float");
        if (known) expect(known).toEqual({ vector: vectorOf(at, 256), tokens: at });
      }
    },
  );
});

test("keeps most of a working set that fills the cache through a scan", () => {
  const cache = newCache();
  for (let round = 0; round < 3; round++) use(cache, "used", capacity);
  use(cache, "scan", 10 * capacity);
  expect(shareOf(cache, "used", capacity)).toBeGreaterThan(0.85);
});

test("leaves space for new entries when all entries were used", () => {
  const cache = newCache();
  for (let round = 0; round < 3; round++) use(cache, "used", capacity);
  const count = capacity / 20;
  use(cache, "new", count);
  expect(shareOf(cache, "new", count)).toBe(1);
});

test("a scan that is repeated does not evict entries that are used meanwhile", () => {
  const cache = newCache();
  const count = capacity / 2;
  for (let round = 0; round < 3; round++) use(cache, "used", count);
  for (let round = 0; round < 4; round++) {
    use(cache, "scan", 10 * capacity);
    expect(use(cache, "used", count)).toBeGreaterThan(0.9);
  }
});

test("entries without a hit are evicted in the order in which they were added", () => {
  const cache = newCache();
  use(cache, "first", capacity);
  use(cache, "second", capacity / 2);
  expect(shareOf(cache, "first", capacity / 2)).toBe(0);
  expect(cache.has(`first ${capacity / 2}`)).toBe(true);
  expect(shareOf(cache, "second", capacity / 2)).toBe(1);
});

test("a key that is requested again soon after its eviction stays through the next scan", () => {
  const cache = newCache();
  for (let round = 0; round < 2; round++) use(cache, "used", capacity * 0.8);
  cache.set("returned", { vector: vectorOf(1, 256), tokens: 1 });
  use(cache, "scan", capacity / 2);
  expect(cache.has("returned")).toBe(false);
  cache.set("returned", { vector: vectorOf(1, 256), tokens: 1 });
  use(cache, "other scan", 10 * capacity);
  expect(cache.has("returned")).toBe(true);
});

describe("the cache stage", () => {
  /** Sends requests through the stage, and counts the inputs that reach the upstream. */
  function setUpStage() {
    let sent = 0;
    const send = cacheStage({
      cache: newCache(),
      singleFlight: new SingleFlight(),
      enabled: () => true,
    })(async (request: EmbeddingsRequest) => {
      const response = responseTo(request);
      sent += response.vectors.length;
      return {
        ...response,
        vectors: response.vectors.map((vector) =>
          new Float32Array(256).fill((vector as number[])[0]!),
        ),
      };
    });
    /** Returns the share of the texts that were not cached. */
    const embed = async (name: string, count: number, inputs: number): Promise<number> => {
      const texts = Array.from({ length: count }, (_, at) => `${name} ${at}`);
      const before = sent;
      for (let at = 0; at < count; at += inputs)
        await send(requestFor(texts.slice(at, at + inputs), model));
      return (sent - before) / count;
    };
    return embed;
  }

  test.each([1, 50, 500])(
    "keeps used texts through new texts in requests of %i inputs, and adapts to a new working set",
    async (inputs) => {
      const embed = setUpStage();
      const count = capacity * 0.7;
      for (let round = 0; round < 2; round++) await embed("used", count, inputs);
      expect(await embed("document", 10 * capacity, inputs)).toBe(1);
      expect(await embed("used", count, count)).toBeLessThan(0.1);

      for (let round = 0; round < 6; round++) await embed("changed", count, inputs);
      expect(await embed("changed", count, inputs)).toBeLessThan(0.1);
    },
  );
});
