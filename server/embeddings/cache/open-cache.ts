/** Opens the embedding cache: in memory, persisted in a file, and shared by replicas. */
import type { Log } from "../../lib/log.ts";
import type { SharedEmbeddings } from "../../storage/redis/shared-embeddings.ts";
import { EmbeddingCacheFile } from "../../storage/sqlite/embedding-cache-file.ts";
import { cacheKeyFormat } from "./cache-key.ts";
import { type CachePersistence, EmbeddingCache } from "./embedding-cache.ts";

interface OpenCacheOptions {
  /** The folder of the file. Undefined if the cache is in memory only. */
  readonly folder: string | undefined;
  /** 0: the cache is off. */
  readonly maxBytes: number;
  /** 0: vectors do not expire. */
  readonly ttlMs: number;
  /** The cache that replicas share. */
  readonly shared: SharedEmbeddings | undefined;
  readonly log: Pick<Log, "error">;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly resources: AsyncDisposableStack;
}

interface OpenedCache {
  readonly cache: EmbeddingCache;
  /** Evicts every vector of this replica. */
  clearLocal(): Promise<void>;
}

export function openCache(options: OpenCacheOptions): OpenedCache {
  const { folder, maxBytes, ttlMs, shared, now } = options;
  const newCache = (file?: EmbeddingCacheFile) => {
    const persistence = shared ? persistInBoth(shared, file) : file;
    return new EmbeddingCache({
      maxBytes,
      ...(persistence && { persistence }),
      ...(ttlMs > 0 && { expiry: { ttlMs, now } }),
    });
  };
  if (maxBytes === 0 || folder === undefined) {
    const cache = newCache();
    return { cache, clearLocal: async () => cache.clearMemory() };
  }
  const file = new EmbeddingCacheFile({
    folder,
    maxBytes,
    keyFormat: cacheKeyFormat,
    ...(ttlMs > 0 && { ttlMs }),
    now,
    report: (reason) => options.log.error("cache-not-persisted", { reason }),
  });
  options.resources.defer(() => file.close());
  const cache = newCache(file);
  void file.load((...row) => cache.restore(...row));
  return {
    cache,
    clearLocal: () => {
      cache.clearMemory();
      return file.clear();
    },
  };
}

const persistInBoth = (shared: SharedEmbeddings, file?: EmbeddingCacheFile): CachePersistence => ({
  add: (key, embedding) => {
    file?.add(key, embedding);
    shared.add(key, embedding);
  },
  touch: (key) => file?.touch(key),
  clear: async () => {
    shared.clear();
    await file?.clear();
  },
});
