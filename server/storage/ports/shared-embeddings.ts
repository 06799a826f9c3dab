/**
 * Port: the second level of the embedding cache, which replicas share. It never delays or fails a request noticeably.
 *
 * `add` and `clear` are synchronous because they only buffer: a `clear` has its effect on this replica at once, and is
 * repeated in the background until the cache has it. The connection to the cache reports its errors; an embedding that
 * could not be written is a cache miss, or the earlier embedding stays until it expires.
 */
import type { PersistedEmbedding } from "./embedding-cache-store.ts";

export interface SharedEmbedding extends PersistedEmbedding {
  /** Unix milliseconds. */
  readonly madeAt: number;
}

export interface SharedEmbeddings {
  /**
   * For each key its embedding, or undefined. Resolves within a few milliseconds; a key that was not found by then
   * counts as missing. Undefined: the cache is unavailable or busy.
   */
  get(keys: readonly string[]): Promise<readonly (SharedEmbedding | undefined)[]> | undefined;
  /** In the background. Copies the vector before it returns. */
  add(key: string, embedding: PersistedEmbedding): void;
  /**
   * From now on, this replica gets no embedding that was added before, and no other replica as soon as the cache is
   * available.
   */
  clear(): void;
  /**
   * Sets the one listener that is called after another replica has cleared the cache. Until its promise settles, this
   * replica adds no embedding.
   */
  onCleared(listener: () => Promise<void>): void;
  /** Writes all pending embeddings. */
  close(): Promise<void>;
}
