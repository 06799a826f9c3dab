/** When a target turns out to have drifted, all cached vectors are cleared. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { copyFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { EmbeddingCache } from "../../server/embeddings/cache/embedding-cache.ts";
import { temporaryFolder } from "../harness.ts";
import { until } from "../until.ts";
import { keyFor, openCacheFile } from "./cache-file-fixture.ts";

const vector = Float32Array.from({ length: 384 }, (_, at) => at + 1);

test("clearing empties the cache in memory and on disk, and new vectors are cached as before", async () => {
  using folder = temporaryFolder();
  const open = () => openCacheFile(folder.path);
  const first = open();
  const cache = new EmbeddingCache({ maxBytes: 1024 * 1024, persistence: first });
  cache.set(keyFor("written"), { vector, tokens: 1 });
  first.close();

  const second = open();
  const again = new EmbeddingCache({ maxBytes: 1024 * 1024, persistence: second });
  await second.load((key, found, tokens) => again.restore(key, found, tokens));
  expect(again.size).toBe(1);
  again.set(keyFor("waiting to be written"), { vector, tokens: 1 });
  void again.clear();
  expect([again.size, again.get(keyFor("written"), "float")]).toEqual([0, undefined]);
  again.set(keyFor("new"), { vector, tokens: 7 });
  second.close();

  const third = open();
  const found: string[] = [];
  await third.load((key) => found.push(key) > 0);
  third.close();
  expect(found).toEqual([keyFor("new")]);
});

test("clearing replaces the file, so that no time is spent on its rows, and its space is released", async () => {
  using folder = temporaryFolder();
  const reports: string[] = [];
  const open = () => openCacheFile(folder.path, { report: (reason) => reports.push(reason) });
  const path = join(folder.path, "vectors.db");
  const first = open();
  for (let at = 0; at < 1000; at++) first.add(keyFor(at), { vector, tokens: 1 });
  await first.close();
  const size = statSync(path).size;
  expect(size).toBeGreaterThan(1_000_000);
  // As after a crash during an earlier clear.
  copyFileSync(path, `${path}.cleared`);
  const second = open();
  expect(readdirSync(folder.path)).not.toContain("vectors.db.cleared");
  await second.clear();
  expect(statSync(path).size).toBeLessThan(size / 10);
  expect(readdirSync(folder.path)).not.toContain("vectors.db.cleared");
  second.add(keyFor("new"), { vector, tokens: 1 });
  await second.close();
  const third = open();
  const found: string[] = [];
  await third.load((key) => found.push(key) > 0);
  await third.close();
  expect(found).toEqual([keyFor("new")]);
  expect(reports).toEqual([]);
});

test("a file that is not used any more after an error is cleared as well, also before a crash", async () => {
  using folder = temporaryFolder();
  const reports: string[] = [];
  const open = () =>
    openCacheFile(folder.path, { groupMs: 1, report: (reason) => reports.push(reason) });
  const path = join(folder.path, "vectors.db");
  const first = open();
  first.add(keyFor("written"), { vector, tokens: 1 });
  await first.close();
  const second = open();
  {
    // An open connection keeps the write-ahead log, as a full disk does.
    using db = new Database(path);
    db.run(
      "CREATE TRIGGER full BEFORE INSERT ON vectors BEGIN SELECT raise(ABORT, 'disk is full'); END",
    );
    second.add(keyFor("not written"), { vector, tokens: 1 });
    await until(() => reports.length > 0);
    void second.clear();
  }
  second.add(keyFor("after"), { vector, tokens: 1 });
  // The file is opened again before `second` is closed: as after a crash.
  const third = open();
  const found: string[] = [];
  await third.load((key) => found.push(key) > 0);
  expect(found).toEqual([]);
  third.add(keyFor("new"), { vector, tokens: 1 });
  await third.close();
  await second.close();
  // The folder may have another owner now.
  await second.clear();
  const fourth = open();
  await fourth.load((key) => found.push(key) > 0);
  await fourth.close();
  expect(found).toEqual([keyFor("new")]);
  expect(reports).toEqual([expect.stringContaining("disk is full")]);
});

test("new vectors are cached as before after a clear, within the bound", async () => {
  const maxBytes = 64 * 1024 * 1024;
  const cache = new EmbeddingCache({ maxBytes });
  const fill = (name: string, count: number): void => {
    for (let at = 0; at < count; at++) cache.set(`${name} ${at}`, { vector, tokens: 1 });
  };
  fill("old", 40_000);
  cache.clearMemory();
  expect([cache.size, cache.bytes]).toEqual([0, 0]);
  fill("new", 25_000);
  expect(cache.bytes).toBeLessThanOrEqual(maxBytes);
  for (let at = 0; at < 25_000; at += 250)
    expect(cache.get(`new ${at}`, "float")).toMatchObject({ vector });
  expect(cache.get("old 39999", "float")).toBeUndefined();
});
