/** Scan resistance of the embedding cache: requests for many new texts do not evict the entries that are used. */
import { describe, expect, test } from "bun:test";
import { cacheStage } from "../../server/embeddings/cache/cache-stage.ts";
import { EmbeddingCache } from "../../server/embeddings/cache/embedding-cache.ts";
import { SingleFlight } from "../../server/embeddings/single-flight.ts";
import { type EmbeddingsRequest, model, requestFor, responseTo } from "./stage-fixture.ts";

const vectorOf = (seed: number, length: number): Float32Array =>
  new Float32Array(length).map((_, at) => seed + at / 16);

interface Setup {
  readonly cache: EmbeddingCache;
  /** The number of vectors of 256 numbers that fit. */
  readonly capacity: number;
}

const MiB = 1024 * 1024;

function setUpCache(make: (maxBytes: number) => EmbeddingCache, maxBytes = 2 * MiB): Setup {
  const cache = make(maxBytes);
  let capacity = 0;
  for (;;) {
    cache.set(`probe ${capacity}`, { vector: vectorOf(1, 256), tokens: 1 });
    if (cache.size === capacity) break;
    capacity = cache.size;
  }
  cache.clear();
  return { cache, capacity };
}

const caches: [string, (maxBytes: number) => EmbeddingCache][] = [
  ["a cache", (maxBytes) => new EmbeddingCache({ maxBytes })],
  [
    "a cache with a TTL",
    (maxBytes) => new EmbeddingCache({ maxBytes, expiry: { ttlMs: 1e9, now: () => 0 } }),
  ],
];

describe.each(caches)("%s", (_, make) => {
  const fill = ({ cache, capacity }: Setup): void => {
    for (let at = 0; at < capacity; at++) {
      cache.set(`used ${at}`, { vector: vectorOf(at, 256), tokens: at });
    }
  };
  const addBulk = ({ cache }: Setup, count: number, length = 256): void => {
    const vector = vectorOf(1, length);
    for (let at = 0; at < count; at++) {
      cache.set(`bulk ${length} ${at}`, { vector, tokens: 1 }, true);
    }
  };
  const hitRate = ({ cache, capacity }: Setup): number => {
    let hits = 0;
    for (let at = 0; at < capacity; at++) {
      const known = cache.get(`used ${at}`, "float");
      if (!known) continue;
      expect(known).toEqual({ vector: vectorOf(at, 256), tokens: at });
      hits++;
    }
    return hits / capacity;
  };

  test("keeps at least 90 % of a working set that fills it, after a batch of ten times its capacity", () => {
    const setup = setUpCache(make);
    fill(setup);
    addBulk(setup, 10 * setup.capacity);
    expect(hitRate(setup)).toBeWithin(0.9, 1);
    expect(setup.cache.bytes).toBeLessThanOrEqual(2 * MiB);
  });

  test.each([64, 1536])("even if the vectors of the batch have %i numbers", (length) => {
    const setup = setUpCache(make);
    fill(setup);
    addBulk(setup, 10 * setup.capacity, length);
    expect(hitRate(setup)).toBeGreaterThan(0.85);
  });

  test("gives a batch all unused space", () => {
    const setup = setUpCache(make);
    addBulk(setup, setup.capacity);
    expect(setup.cache.size).toBe(setup.capacity);
    for (let at = 0; at < setup.capacity; at++) {
      expect(setup.cache.get(`bulk 256 ${at}`, "float", true)).toBeDefined();
    }
  });

  test("takes that space back for interactive requests", () => {
    const setup = setUpCache(make);
    addBulk(setup, setup.capacity);
    fill(setup);
    expect(hitRate(setup)).toBeGreaterThan(0.9);
  });

  test("keeps a batch's vector that an interactive request has used", () => {
    const setup = setUpCache(make);
    fill(setup);
    addBulk(setup, 10);
    expect(setup.cache.get("bulk 256 3", "float")).toBeDefined();
    addBulk(setup, 10 * setup.capacity, 255);
    expect(setup.cache.get("bulk 256 3", "float")).toBeDefined();
    expect(setup.cache.get("bulk 256 4", "float")).toBeUndefined();
  });

  test("does not count a hit of a batch as a use", () => {
    const setup = setUpCache(make);
    fill(setup);
    const half = Math.floor(setup.capacity / 2);
    for (let at = 0; at < half; at++) setup.cache.get(`used ${at}`, "float", true);
    for (let at = 0; at < half; at++) {
      setup.cache.set(`new ${at}`, { vector: vectorOf(at, 256), tokens: 1 });
    }
    expect(setup.cache.get("used 0", "float")).toBeUndefined();
    expect(setup.cache.get(`used ${half + 1}`, "float")).toBeDefined();
  });

  test("keeps a vector that a batch refreshes with the interactive requests that use it", () => {
    const setup = setUpCache(make);
    fill(setup);
    for (let at = 0; at < setup.capacity; at++) {
      setup.cache.set(`used ${at}`, { vector: vectorOf(at, 256), tokens: at }, true);
    }
    addBulk(setup, 10 * setup.capacity);
    expect(hitRate(setup)).toBeGreaterThan(0.9);
  });
});

describe("scan resistance", () => {
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

  test.each([256, 64, 384, 1536])(
    "keeps entries with two hits among others through a scan of vectors of %i numbers",
    (length) => {
      const { cache, capacity } = setUpCache(caches[0]![1]);
      const count = Math.floor(capacity * 0.7);
      // The entries share slabs with others.
      for (let at = 0; at < count; at++) {
        cache.set(`used ${at}`, { vector: vectorOf(at, 256), tokens: at });
        if (at % 3 === 0) cache.set(`other ${at}`, { vector: vectorOf(0, 256), tokens: 0 });
      }
      for (let round = 0; round < 2; round++) use(cache, "used", count);
      use(cache, "scan", 10 * capacity, length);
      expect(shareOf(cache, "used", count)).toBeWithin(0.9, 1.01);
      for (let at = 0; at < count; at++) {
        const known = cache.get(`used ${at}`, "float");
        if (known) expect(known).toEqual({ vector: vectorOf(at, 256), tokens: at });
      }
      expect(cache.bytes).toBeLessThanOrEqual(2 * MiB);
    },
  );

  test("leaves space for new entries when all entries were used", () => {
    const { cache, capacity } = setUpCache(caches[0]![1]);
    for (let round = 0; round < 3; round++) use(cache, "used", capacity);
    const count = Math.floor(capacity / 6);
    use(cache, "new", count);
    expect(shareOf(cache, "new", count)).toBe(1);
  });

  test("a scan that is repeated does not evict entries that are used meanwhile", () => {
    const { cache, capacity } = setUpCache(caches[0]![1]);
    const count = Math.floor(capacity / 2);
    for (let round = 0; round < 3; round++) use(cache, "used", count);
    for (let round = 0; round < 4; round++) {
      use(cache, "scan", 10 * capacity);
      expect(use(cache, "used", count)).toBeGreaterThan(0.9);
    }
  });
});

describe("the cache stage", () => {
  /** Sends requests through the stage, and counts the inputs that reach the upstream. */
  function setUpStage(maxBytes?: number) {
    const setup = setUpCache(caches[0]![1], maxBytes);
    let sent = 0;
    const send = cacheStage({
      cache: setup.cache,
      singleFlight: new SingleFlight(),
      enabled: () => true,
    })(async (request) => {
      const response = responseTo(request);
      sent += response.vectors.length;
      return {
        ...response,
        vectors: response.vectors.map((vector) =>
          new Float32Array(256).fill((vector as number[])[0]!),
        ),
      };
    });
    const texts = (name: string, count: number) =>
      Array.from({ length: count }, (_, at) => `${name} ${at}`);
    const embed = async (
      inputs: readonly string[],
      change?: (request: EmbeddingsRequest) => void,
    ) => {
      const request = requestFor(inputs, model);
      change?.(request);
      const before = sent;
      await send(request);
      return sent - before;
    };
    return { ...setup, embed, texts };
  }

  test.each([
    ["of batch priority", 1, true],
    ["with more than 64 inputs", 100, false],
  ])("keeps the working set through requests %s", async (_, inputs, isBatch) => {
    const { capacity, embed, texts } = setUpStage();
    const used = texts("used", capacity);
    for (const text of used) await embed([text]);
    const bulk = texts("document", 10 * capacity);
    for (let at = 0; at < bulk.length; at += inputs) {
      await embed(bulk.slice(at, at + inputs), ({ record }) => {
        if (isBatch) record.priority = "batch";
      });
    }
    // In one request: the misses of one request after the other would evict the entries that the next ones need.
    const misses = await embed(used);
    expect(misses / capacity).toBeLessThan(0.1);
  });

  test.each([50, 1])(
    "keeps a working set with two hits through 30,000 new texts in interactive requests of %i inputs, and adapts to a new working set",
    async (inputs) => {
      const { embed, texts } = setUpStage(8 * MiB);
      /** Returns the share of inputs that were not cached. */
      const embedAll = async (all: readonly string[]): Promise<number> => {
        let misses = 0;
        for (let at = 0; at < all.length; at += inputs)
          misses += await embed(all.slice(at, at + inputs));
        return misses / all.length;
      };
      const used = texts("used", 4000);
      for (let round = 0; round < 3; round++) await embedAll(used);
      expect(await embedAll(texts("document", 30_000))).toBe(1);
      // In one request, which is a bulk request and does not count as a use.
      expect((await embed(used)) / used.length).toBeLessThan(0.1);

      const changed = texts("changed", 4000);
      for (let round = 0; round < 4; round++) await embedAll(changed);
      expect(await embedAll(changed)).toBeLessThan(0.1);
    },
  );

  test("evicts the working set for ordinary requests", async () => {
    const { capacity, embed, texts } = setUpStage();
    const used = texts("used", capacity);
    for (const text of used) await embed([text]);
    for (const text of texts("document", capacity)) await embed([text]);
    expect(await embed([used[0]!])).toBe(1);
  });
});
