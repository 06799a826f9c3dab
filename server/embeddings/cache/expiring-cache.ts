/** Embedding cache with a TTL, for models whose weights may change under the same name. */
import type { CachedEmbedding, EmbeddingCacheOptions } from "./embedding-cache.ts";
import { EmbeddingCache } from "./embedding-cache.ts";

export interface ExpiringCacheOptions extends EmbeddingCacheOptions {
  /** How long a vector is valid, counted from when it was made; use does not extend it. */
  readonly ttlMs: number;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** Timestamps may exceed twice the number of cached vectors by this many. */
const spareTimestamps = 1024;

/** An expired entry stays in memory, but is not returned, until it is set again or evicted. */
export class ExpiringCache extends EmbeddingCache {
  readonly #ttlMs: number;
  readonly #now: () => number;
  /** When each vector was made. A vector without a timestamp counts as expired. */
  readonly #madeAt = new Map<string, number>();

  constructor({ ttlMs, now, ...options }: ExpiringCacheOptions) {
    super(options);
    this.#ttlMs = ttlMs;
    this.#now = now;
  }

  override get(key: string, encoding: "float" | "base64"): CachedEmbedding | undefined {
    const madeAt = this.#madeAt.get(key);
    if (madeAt === undefined || this.#isExpired(madeAt)) return undefined;
    return super.get(key, encoding);
  }

  override set(key: string, entry: CachedEmbedding): boolean {
    if (!super.set(key, entry)) return false;
    // Deleted first, so that the map stays in order of time.
    this.#madeAt.delete(key);
    this.#madeAt.set(key, this.#now());
    this.#removeStale();
    return true;
  }

  override clear(): void {
    super.clear();
    this.#madeAt.clear();
  }

  override restore(
    key: string,
    vector: Float32Array,
    tokens: number | undefined,
    madeAt = this.#now(),
  ): boolean {
    if (this.#isExpired(madeAt) || this.#madeAt.has(key)) return true;
    if (!super.restore(key, vector, tokens)) return false;
    this.#madeAt.set(key, madeAt);
    return true;
  }

  #isExpired(madeAt: number): boolean {
    return this.#now() - madeAt >= this.#ttlMs;
  }

  /** Removes the timestamps of evicted vectors, which would otherwise stay forever. */
  #removeStale(): void {
    for (const [key, madeAt] of this.#madeAt) {
      if (this.#madeAt.size <= 2 * this.size + spareTimestamps && !this.#isExpired(madeAt)) return;
      this.#madeAt.delete(key);
    }
  }
}
