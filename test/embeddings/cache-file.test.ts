/** Cached vectors survive a restart in a file that is bounded, holds no texts, and is not used when it is broken. */
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cacheKey, cacheKeyPrefix } from "../../server/embeddings/cache/cache-key.ts";
import { EmbeddingCache, entryOverhead } from "../../server/embeddings/cache/embedding-cache.ts";
import type { EmbeddingCacheFileOptions } from "../../server/storage/sqlite/embedding-cache-file.ts";
import { closeAfterEach } from "../clean-up.ts";
import { modelNamed, textQuery } from "../fuzz/cache-fixture.ts";
import { temporaryFolder } from "../harness.ts";
import { until } from "../until.ts";
import { keyFor, openCacheFile } from "./cache-file-fixture.ts";

const closeAfter = closeAfterEach();

const KiB = 1024;
const vectorOf = (seed: number, length = 384): Float32Array =>
  Float32Array.from({ length }, (_, at) => seed + at / 7);

function folder(): string {
  const temporary = temporaryFolder();
  closeAfter(temporary);
  return temporary.path;
}

function open(path: string, options: Partial<EmbeddingCacheFileOptions> = {}) {
  const reports: string[] = [];
  let time = 1_000_000;
  const file = openCacheFile(path, {
    now: () => time,
    report: (reason) => reports.push(reason),
    ...options,
  });
  closeAfter(file);
  return {
    file,
    reports,
    add: (from: number, to: number, length?: number) => {
      for (let i = from; i < to; i++) {
        file.add(keyFor(i), { vector: vectorOf(i, length), tokens: i });
      }
    },
    later: () => {
      time += 1000;
    },
  };
}

/** The entries restored after a restart, in order, identified by their token counts. */
async function reload(path: string, options: Partial<EmbeddingCacheFileOptions> = {}) {
  const { file, reports } = open(path, options);
  const found: (number | undefined)[] = [];
  await file.load((key, vector, tokens) => {
    if (tokens !== undefined) {
      expect(key).toBe(keyFor(tokens));
      expect(vector).toEqual(vectorOf(tokens, vector.length));
    }
    found.push(tokens);
    return true;
  });
  file.close();
  return { found, reports };
}

const edit = (path: string, sql: string): void => {
  const db = new Database(join(path, "vectors.db"));
  db.run(sql);
  db.close();
};

describe("after a restart", () => {
  test("vectors are equal to the last bit, with the tokens that were reported", async () => {
    const path = folder();
    const first = open(path);
    const bits = new Float32Array(new Uint32Array([0x80000000, 1, 0x7f7fffff]).buffer);
    first.file.add(keyFor("bits"), { vector: bits, tokens: undefined });
    first.add(0, 200);
    first.file.close();

    const cache = new EmbeddingCache({ maxBytes: 10 * KiB * KiB });
    const second = open(path);
    await second.file.load((key, vector, tokens) => cache.restore(key, vector, tokens));
    expect(cache.size).toBe(201);
    for (let i = 0; i < 200; i++) {
      expect(cache.get(keyFor(i), "float")).toMatchObject({ vector: vectorOf(i), tokens: i });
    }
    const known = cache.get(keyFor("bits"), "float");
    expect(known?.tokens).toBeUndefined();
    const found = known?.vector as Float32Array<ArrayBuffer>;
    expect([...new Uint32Array(found.buffer)]).toEqual([...new Uint32Array(bits.buffer)]);
    expect([...first.reports, ...second.reports]).toEqual([]);
  });

  test("quantized vectors of any length have the same bytes, and take no more memory", async () => {
    const path = folder();
    const first = open(path);
    const before = new EmbeddingCache({ maxBytes: 10 * KiB * KiB, persistence: first.file });
    const lengths = [1, 2, 3, 4, 5, 7, 8, 96, 128, 1024];
    // The bits of float32 NaNs, which a copy of numbers may change.
    const bytesFor = (length: number) => Uint8Array.from({ length }, (_, at) => 0xff - (at % 3));
    for (const length of lengths) {
      const bytes = bytesFor(length);
      before.set(keyFor(`u${length}`), { vector: bytes, tokens: 1 });
      before.set(keyFor(`i${length}`), {
        vector: new Int8Array(bytes),
        tokens: 1,
      });
    }
    expect(before.bytes).toBeLessThan(
      2 * lengths.reduce((sum, length) => sum + length + entryOverhead + 4, 0),
    );
    first.file.close();
    const after = new EmbeddingCache({ maxBytes: 10 * KiB * KiB });
    await open(path).file.load((key, vector, tokens) => after.restore(key, vector, tokens));
    for (const length of lengths)
      for (const cache of [before, after]) {
        const bytes = bytesFor(length);
        expect(cache.get(keyFor(`u${length}`), "ubinary")?.vector).toEqual(bytes);
        expect(cache.get(keyFor(`i${length}`), "int8")?.vector).toEqual(new Int8Array(bytes));
      }
  });

  test("the most recently used vectors are restored first, up to the byte limit", async () => {
    const path = folder();
    const { file, add, later } = open(path);
    add(0, 3);
    file.close();
    const again = open(path);
    again.later();
    again.add(3, 5);
    again.file.touch(keyFor(1));
    again.later();
    again.file.close();
    later();
    expect((await reload(path)).found.slice(0, 3).sort()).toEqual([1, 3, 4]);

    const third = open(path);
    const readKeys: string[] = [];
    await third.file.load((key) => readKeys.push(key) < 2);
    expect(readKeys).toHaveLength(2);
  });

  test("requests are served while vectors are restored", async () => {
    const path = folder();
    const first = open(path);
    first.add(0, 500);
    first.file.close();
    const second = open(path);
    let longest = 0;
    let inOneTurn = 0;
    let turning = true;
    const turn = () => {
      longest = Math.max(longest, inOneTurn);
      inOneTurn = 0;
      if (turning) setImmediate(turn);
    };
    turn();
    await second.file.load(() => ++inOneTurn > 0);
    turning = false;
    expect(longest).toBeLessThanOrEqual(128);
  });

  test("vectors under keys of another format are deleted", async () => {
    const path = folder();
    const first = open(path);
    first.add(0, 10);
    first.file.close();
    expect(await reload(path, { keyFormat: 2 })).toEqual({ found: [], reports: [] });
    expect((await reload(path)).found).toEqual([]);
  });

  test("a vector that was corrupted on disk is not used", async () => {
    const path = folder();
    const first = open(path);
    first.add(0, 4);
    first.file.close();
    edit(path, "UPDATE vectors SET vector = zeroblob(1536) WHERE tokens = 1");
    edit(path, "UPDATE vectors SET tokens = 7 WHERE tokens = 2");
    const { found, reports } = await reload(path);
    expect(found.sort()).toEqual([0, 3]);
    expect(reports).toEqual([]);
  });
});

describe("the file", () => {
  const sizeOf = (path: string): number => statSync(join(path, "vectors.db")).size;

  test("holds neither texts nor API keys, and only its owner may read it", () => {
    const path = folder();
    const { file } = open(path);
    const query = textQuery(["a secret text"], { user: "somebody" });
    const key = cacheKey(
      cacheKeyPrefix(query, modelNamed("the-model", "the-space"), false),
      query.input,
      0,
    );
    file.add(key, { vector: vectorOf(1), tokens: 3 });
    file.close();
    for (const name of readdirSync(path)) {
      const bytes = readFileSync(join(path, name), "latin1");
      for (const word of ["secret", "somebody", "the-model", "the-space"]) {
        expect(bytes).not.toContain(word);
      }
      expect(statSync(join(path, name)).mode & 0o077).toBe(0);
    }
    expect(Buffer.from(key, "base64")).toHaveLength(32);
  });

  test("stays within its byte limit when ten times as much is cached, and keeps the most recently used", async () => {
    const path = folder();
    const maxBytes = 512 * KiB;
    const { file, add, later, reports } = open(path, { maxBytes, maxQueuedBytes: 64 * KiB * KiB });
    add(0, 3500);
    file.close();
    later();
    expect(sizeOf(path)).toBeLessThanOrEqual(maxBytes + 128 * KiB);
    const { found } = await reload(path, { maxBytes });
    expect(found.length).toBeGreaterThan(150);
    expect(found[0]).toBe(3499);
    expect(reports).toEqual([]);
  });

  test("starts empty when its limit was lowered", async () => {
    const path = folder();
    const first = open(path);
    first.add(0, 2000);
    await first.file.close();
    expect(sizeOf(path)).toBeGreaterThan(3000 * KiB);
    const second = open(path, { maxBytes: 256 * KiB });
    second.add(3000, 3010);
    await second.file.close();
    expect(sizeOf(path)).toBeLessThanOrEqual(256 * KiB);
    expect((await reload(path, { maxBytes: 256 * KiB })).found).toHaveLength(10);
    expect([...first.reports, ...second.reports]).toEqual([]);
  });

  test("is written in groups while the process lives", async () => {
    const path = folder();
    const { add } = open(path, { groupMs: 5, groupRows: 10 });
    add(0, 35);
    await until(() => {
      const db = new Database(join(path, "vectors.db"), { readonly: true });
      const row = db.query<{ n: number }, []>("SELECT count(*) AS n FROM vectors").get();
      db.close();
      return row?.n === 35;
    });
  });

  test("skips vectors that do not fit into the write queue", async () => {
    const path = folder();
    const { file, add } = open(path, { maxQueuedBytes: 20 * 384 * 4 });
    add(0, 100);
    file.close();
    expect((await reload(path)).found).toHaveLength(20);
  });

  test("waits for another process that has it locked, and loses nothing", async () => {
    const path = folder();
    const { add, file, reports } = open(path, { groupMs: 5 });
    const other = new Database(join(path, "vectors.db"));
    other.run("BEGIN IMMEDIATE");
    add(0, 5);
    await Bun.sleep(60);
    other.run("COMMIT");
    other.close();
    await Bun.sleep(60);
    file.close();
    expect((await reload(path)).found).toHaveLength(5);
    expect(reports).toEqual([]);
  });
});

describe("an unusable file", () => {
  /** Uses the file in every way: its error is reported once, and the cache continues in memory. */
  async function expectDoneWithout(
    { file, reports, add }: ReturnType<typeof open>,
    message: string,
  ) {
    for (let i = 0; i < 3; i++) {
      add(0, 50);
      file.touch(keyFor(1));
      await file.load(() => true);
      await Bun.sleep(20);
    }
    file.close();
    expect(reports).toHaveLength(1);
    expect(reports[0]).toContain(message);
    expect(reports[0]).toContain("vectors.db");
  }

  test("that is not a database is reported once, left unchanged, and not used", async () => {
    const path = folder();
    const text = "this is not a database ".repeat(500);
    writeFileSync(join(path, "vectors.db"), text);
    await expectDoneWithout(open(path, { groupMs: 5 }), "not a database");
    expect(readFileSync(join(path, "vectors.db"), "utf8")).toBe(text);
  });

  test("in a missing folder is reported once and not used", async () => {
    await expectDoneWithout(open(join(folder(), "missing"), { groupMs: 5 }), "ENOENT");
  });

  test("that breaks while in use is reported once and not used", async () => {
    const path = folder();
    const broken = open(path, { groupMs: 5 });
    edit(path, "DROP TABLE vectors");
    await expectDoneWithout(broken, "no such table");
  });

  test("with damaged pages is reported once, and the readable vectors are restored", async () => {
    const path = folder();
    const first = open(path);
    first.add(0, 400);
    first.file.close();
    const bytes = readFileSync(join(path, "vectors.db"));
    bytes.fill(0xff, 40 * 4096, 120 * 4096);
    writeFileSync(join(path, "vectors.db"), bytes);
    const { found, reports } = await reload(path);
    expect(reports).toHaveLength(1);
    expect(found.length).toBeLessThan(400);
  });
});
