/** When a target turns out to have drifted, all cached vectors are cleared. */
import { expect, test } from "bun:test";
import { EmbeddingCache } from "../../server/embeddings/cache/embedding-cache.ts";
import { EmbeddingCacheFile } from "../../server/storage/sqlite/embedding-cache-file.ts";
import { temporaryFolder } from "../harness.ts";

const keyFor = (name: string): string => Bun.SHA256.hash(name, "base64");
const vector = Float32Array.from({ length: 384 }, (_, at) => at + 1);

test("clearing empties the cache in memory and on disk, and new vectors are cached as before", async () => {
  using folder = temporaryFolder();
  const open = () =>
    new EmbeddingCacheFile({
      folder: folder.path,
      maxBytes: 1024 * 1024,
      keyFormat: 1,
      now: () => 1,
      report: (reason) => {
        throw new Error(reason);
      },
    });
  const first = open();
  const cache = new EmbeddingCache({ maxBytes: 1024 * 1024, persistence: first });
  cache.set(keyFor("written"), { vector, tokens: 1 });
  first.close();

  const second = open();
  const again = new EmbeddingCache({ maxBytes: 1024 * 1024, persistence: second });
  await second.load((key, found, tokens) => again.restore(key, found, tokens));
  expect(again.size).toBe(1);
  again.set(keyFor("waiting to be written"), { vector, tokens: 1 });
  again.clear();
  expect([again.size, again.get(keyFor("written"), "float")]).toEqual([0, undefined]);
  again.set(keyFor("new"), { vector, tokens: 7 });
  second.close();

  const third = open();
  const found: string[] = [];
  await third.load((key) => found.push(key) > 0);
  third.close();
  expect(found).toEqual([keyFor("new")]);
});
