/**
 * Port: cached embeddings that survive a restart. Writes are write-behind: they never wait and never fail, and a vector
 * that was not written yet may be lost, which is a cache miss.
 *
 * `add` and `touch` are synchronous because they only buffer; an error of a later write is reported by the
 * store, which then stores nothing more.
 */

export interface PersistedEmbedding {
  readonly vector: Float32Array;
  /** This input's share of the tokens that the upstream reported. Undefined: the upstream reported none. */
  readonly tokens: number | undefined;
}

/** Takes one vector of the store. False: the cache is full. */
export type RestoreEmbedding = (
  key: string,
  vector: Float32Array,
  tokens: number | undefined,
  /** Unix milliseconds. */
  madeAt: number,
) => boolean;

export interface EmbeddingCacheStore {
  /** Copies the vector before it returns: the caller frees it. Replaces an earlier vector of the key. */
  add(key: string, embedding: PersistedEmbedding): void;
  /** The vector was used, so it is evicted later. */
  touch(key: string): void;
  /**
   * Deletes everything, including vectors that wait to be written. When it returns, no vector from before can be loaded
   * again, also after a crash; when the promise resolves, the disk space is free.
   */
  clear(): Promise<void>;
  /** Passes the vectors to `restore`, most recently used first, until it returns false. */
  load(restore: RestoreEmbedding): Promise<void>;
  /** Writes all pending vectors. Afterwards every method does nothing. */
  close(): Promise<void>;
}
