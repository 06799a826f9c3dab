/** Files of the embedding cache, for tests. */
import {
  EmbeddingCacheFile,
  type EmbeddingCacheFileOptions,
} from "../../server/storage/sqlite/embedding-cache-file.ts";

export const keyFor = (name: number | string): string => Bun.SHA256.hash(String(name), "base64");

/** Written only when it is closed, unless a test sets another interval. An error of the file fails the test. */
export const openCacheFile = (
  folder: string,
  options: Partial<EmbeddingCacheFileOptions> = {},
): EmbeddingCacheFile =>
  new EmbeddingCacheFile({
    folder,
    maxBytes: 64 * 1024 * 1024,
    keyFormat: 1,
    groupMs: 600_000,
    now: () => 1,
    report: (reason) => {
      throw new Error(reason);
    },
    ...options,
  });
