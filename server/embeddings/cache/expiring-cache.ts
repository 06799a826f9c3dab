/** Known vectors that are asked for anew after a while, for models whose weights may be exchanged behind their name. */
import type { CachedEmbedding, EmbeddingCacheOptions } from "./embedding-cache.ts";
import { EmbeddingCache } from "./embedding-cache.ts";

export interface ExpiringCacheOptions extends EmbeddingCacheOptions {
  /** How long a vector is known, from the day it was made and however often it is used. */
  readonly ttlMs: number;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** So many more than vectors are remembered may be noted, besides as many again. */
const spareNotes = 1024;

/** What is too old stays where it is, unseen, until it is learnt again or makes room like any other. */
export class ExpiringCache extends EmbeddingCache {
  readonly #ttlMs: number;
  readonly #now: () => number;
  /** When each was made. One without a note counts as too old. */
  readonly #madeAt = new Map<string, number>();

  constructor({ ttlMs, now, ...options }: ExpiringCacheOptions) {
    super(options);
    this.#ttlMs = ttlMs;
    this.#now = now;
  }

  override get(key: string, encoding: "float" | "base64"): CachedEmbedding | undefined {
    const madeAt = this.#madeAt.get(key);
    if (madeAt === undefined || this.#isOld(madeAt)) return undefined;
    return super.get(key, encoding);
  }

  override set(key: string, known: CachedEmbedding): boolean {
    if (!super.set(key, known)) return false;
    // Taken out first: then those that were made first are the first in order.
    this.#madeAt.delete(key);
    this.#madeAt.set(key, this.#now());
    this.#tidy();
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
    if (this.#isOld(madeAt) || this.#madeAt.has(key)) return true;
    if (!super.restore(key, vector, tokens)) return false;
    this.#madeAt.set(key, madeAt);
    return true;
  }

  #isOld(madeAt: number): boolean {
    return this.#now() - madeAt >= this.#ttlMs;
  }

  /** Notes of vectors that have made room for others would be kept for ever. */
  #tidy(): void {
    for (const [key, madeAt] of this.#madeAt) {
      if (this.#madeAt.size <= 2 * this.size + spareNotes && !this.#isOld(madeAt)) return;
      this.#madeAt.delete(key);
    }
  }
}
