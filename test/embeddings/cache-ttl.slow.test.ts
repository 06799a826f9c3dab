/** With a TTL, an expired vector is requested again, from memory and from disk. */
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { EmbeddingCache } from "../../server/embeddings/cache/embedding-cache.ts";
import type { EmbeddingCacheFileOptions } from "../../server/storage/sqlite/embedding-cache-file.ts";
import { closeAfterEach } from "../clean-up.ts";
import { fakeVector, startFake } from "../fake-upstream.ts";
import { startGateway, temporaryFolder, testKey } from "../harness.ts";
import { until } from "../until.ts";
import { keyFor, openCacheFile } from "./cache-file-fixture.ts";

const closeAfter = closeAfterEach();

const ttlMs = 10_000;
let time = 1_000_000;
const now = () => time;
const vector = (seed: number) => Float32Array.of(seed, seed + 0.5);

function openFile(folder: string, more: Partial<EmbeddingCacheFileOptions> = {}) {
  const file = openCacheFile(folder, { ttlMs, now, ...more });
  closeAfter(file);
  return file;
}

const rowsIn = (folder: string): number => {
  const db = new Database(join(folder, "vectors.db"));
  const { rows } = db.query("SELECT count(*) AS rows FROM vectors").get() as { rows: number };
  db.close();
  return rows;
};

describe("a cached vector", () => {
  test("expires, however often it was used, and is cached again", () => {
    const cache = new EmbeddingCache({ maxBytes: 1e6, expiry: { ttlMs, now } });
    cache.set("a", { vector: vector(1), tokens: 3 });
    for (let second = 0; second < 10; second++) {
      expect(cache.get("a", "float")).toEqual({ vector: vector(1), tokens: 3 });
      time += 1000;
    }
    expect(cache.get("a", "float")).toBeUndefined();
    cache.set("a", { vector: vector(2), tokens: 3 });
    time += 9999;
    expect(cache.get("a", "float")?.vector).toEqual(vector(2));
    cache.clear();
    expect(cache.get("a", "float")).toBeUndefined();
  });

  test("stays cached while other vectors are cached and evicted", () => {
    const cache = new EmbeddingCache({ maxBytes: 40_000, expiry: { ttlMs: 1e12, now } });
    for (let round = 0; round < 20_000; round++) {
      cache.set(keyFor(round), { vector: vector(round), tokens: 1 });
    }
    expect(cache.get(keyFor(19_999), "float")?.vector).toEqual(vector(19_999));
    expect(cache.get(keyFor(0), "float")).toBeUndefined();
  });

  test("keeps its age across a restart", async () => {
    using folder = temporaryFolder();
    const first = openFile(folder.path);
    first.add(keyFor("old"), { vector: vector(1), tokens: 1 });
    first.close();
    time += 6000;
    const second = openFile(folder.path);
    second.add(keyFor("young"), { vector: vector(2), tokens: 2 });
    second.touch(keyFor("old"));
    second.close();
    time += 3999;
    const cache = new EmbeddingCache({ maxBytes: 1e6, expiry: { ttlMs, now } });
    await openFile(folder.path).load((...row) => cache.restore(...row));
    expect(cache.get(keyFor("old"), "float")?.tokens).toBe(1);
    time += 1;
    expect(cache.get(keyFor("old"), "float")).toBeUndefined();
    expect(cache.get(keyFor("young"), "float")?.tokens).toBe(2);
  });

  test("that has expired is deleted from disk, at the start and while the gateway runs", async () => {
    using folder = temporaryFolder();
    const first = openFile(folder.path);
    for (let i = 0; i < 600; i++) first.add(keyFor(i), { vector: vector(i), tokens: 1 });
    first.close();
    time += ttlMs;
    const second = openFile(folder.path, { groupMs: 1 });
    const found: string[] = [];
    await second.load((key) => found.push(key) > 0);
    expect([found.length, rowsIn(folder.path)]).toEqual([0, 0]);
    second.add(keyFor("new"), { vector: vector(1), tokens: 1 });
    await Bun.sleep(30);
    expect(rowsIn(folder.path)).toBe(1);
    // Expired vectors are deleted once a minute.
    time += 60_000;
    await until(() => rowsIn(folder.path) === 0);
  });

  test("stays on disk without a TTL", async () => {
    using folder = temporaryFolder();
    const file = openFile(folder.path, { ttlMs: Infinity });
    file.add(keyFor("a"), { vector: vector(1), tokens: 7 });
    file.close();
    time += 1e9;
    const found: unknown[] = [];
    const again = openFile(folder.path, { ttlMs: Infinity });
    await again.load((_key, _vector, tokens, madeAt) => found.push([tokens, madeAt]) > 0);
    expect(found).toEqual([[7, time - 1e9]]);
  });
});

test("VEXEL_CACHE_TTL makes the gateway request expired vectors again", async () => {
  const fake = startFake();
  for (const [ttl, calls] of [
    ["1", 2],
    ["0", 1],
  ] as const) {
    fake.clear();
    const gateway = startGateway({
      settings: { VEXEL_CACHE_BYTES: "1000000", VEXEL_CACHE_TTL: ttl },
      yaml: `
upstreams: [{ id: up, kind: openai, baseUrl: "${fake.url}", apiKey: sk-fake }]
models: [{ id: m, kind: embedding, targets: [{ upstream: up, model: custom-embedding-1 }] }]
keys: [{ name: test, key: ${testKey} }]
`,
    });
    const embed = () => gateway.post("/v1/embeddings", { model: "m", input: "a", dimensions: 8 });
    await (await embed()).text();
    await (await embed()).text();
    expect(fake.requests).toHaveLength(1);
    await Bun.sleep(1010);
    const { data } = (await (await embed()).json()) as { data: { embedding: number[] }[] };
    expect(Float32Array.from(data[0]?.embedding ?? [])).toEqual(fakeVector("a", 8));
    expect(fake.requests).toHaveLength(calls);
    await gateway.close();
  }
  fake.close();
});
