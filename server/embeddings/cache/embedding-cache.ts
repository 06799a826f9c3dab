/**
 * Embedding cache in memory, bounded by bytes, with LRU eviction. The least recently used entry of the right size class
 * is evicted first; if none of the old entries has that size, all entries in the slab of the oldest entry are evicted.
 */
import type { Vector } from "../../upstream/contract.ts";
import { dimensionsOf, inspectVector } from "../vector-formats.ts";
import { type Slab, SlabAllocator, sizeClassOf } from "./slab-allocator.ts";

export interface CachedEmbedding {
  readonly vector: Vector;
  /** This input's share of the tokens that the upstream reported. Undefined: it reported none. */
  readonly tokens: number | undefined;
}

/** Persists cached vectors across restarts. Called for each new vector, and for each use. */
export interface CachePersistence {
  /** The vector is a view that will be overwritten: the implementation copies it synchronously. */
  add(key: string, known: CachedEmbedding & { readonly vector: Float32Array }): void;
  touch(key: string): void;
  clear(): void;
}

export interface EmbeddingCacheOptions {
  /** The maximum bytes of slabs and entries together. 0: nothing is cached. */
  readonly maxBytes: number;
  readonly persistence?: CachePersistence;
  /** No vector may be larger. */
  readonly slabBytes?: number;
}

/** Bytes of an entry besides its vector, key included. Measured as resident memory, with 80,000 entries. */
export const entryOverhead = 400;

const [minSlabBytes, maxSlabBytes] = [16 * 1024, 256 * 1024];
/** Enough slabs that a small cache can hold vectors of several lengths. */
const usualSlabs = 32;
/**
 * How many of the oldest entries are searched for one of the right size class before a slab is cleared: one in
 * `oldestOf`, at most `maxSearched`. Searching further, a rare size class could never grow; less far, slabs would be
 * cleared without need.
 */
const oldestOf = 64;
const maxSearched = 256;
/**
 * Cache operations between two hints to the garbage collector. It counts the slabs as heap growth, and without hints
 * lets twice as much garbage pile up.
 */
const operationsBetweenHints = 4096;

/** The number of hot entries whose base64 text is kept, in addition to `maxBytes`. */
const maxHotEntries = 1024;

/**
 * A doubly linked LRU list through the entries, since a Map is not enough: it is in insertion order, but reading the
 * first key after many deletions steps over all of them, and an entry cannot be inserted at the old end.
 */
class Entry {
  readonly key: string;
  readonly slab: Slab<Entry>;
  readonly slot: number;
  readonly length: number;
  readonly tokens: number | undefined;
  /** The entry has been a cache hit. */
  wasRequested = false;
  encoded: CachedEmbedding | undefined = undefined;
  newer: Entry | undefined = undefined;
  older: Entry | undefined = undefined;

  constructor(key: string, slab: Slab<Entry>, length: number, tokens: number | undefined) {
    this.key = key;
    this.slab = slab;
    this.slot = slab.nextSlot;
    this.length = length;
    this.tokens = tokens;
  }
}

export class EmbeddingCache {
  readonly #maxBytes: number;
  readonly #persistence: CachePersistence | undefined;
  readonly #allocator: SlabAllocator<Entry>;
  readonly #entries = new Map<string, Entry>();
  #newest: Entry | undefined;
  #oldest: Entry | undefined;
  #operations = 0;
  /** Ring buffer of the hot entries; the oldest is replaced next. */
  readonly #hot: (Entry | undefined)[] = [];
  #nextHot = 0;

  constructor({ maxBytes, persistence, slabBytes }: EmbeddingCacheOptions) {
    this.#maxBytes = maxBytes;
    this.#persistence = persistence;
    this.#allocator = new SlabAllocator(slabBytes ?? slabBytesFor(maxBytes));
  }

  /** Every slab counts with its full size, even if it is not full. */
  get bytes(): number {
    return this.#allocator.bytes + this.#entries.size * entryOverhead;
  }

  get size(): number {
    return this.#entries.size;
  }

  /**
   * A copy in the requested encoding: the entry may be evicted before the response is written. The same object for as
   * long as the entry is hot, so that a response derived from it can be cached too.
   */
  get(key: string, encoding: "float" | "base64"): CachedEmbedding | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry !== this.#newest) {
      this.#unlink(entry);
      this.#linkNewest(entry);
    }
    this.#persistence?.touch(key);
    this.#countOperation();
    if (encoding === "base64" && entry.wasRequested) return entry.encoded ?? this.#makeHot(entry);
    entry.wasRequested = true;
    return read(entry, encoding);
  }

  #makeHot(entry: Entry): CachedEmbedding {
    const encoded = read(entry, "base64");
    const before = this.#hot[this.#nextHot];
    if (before) before.encoded = undefined;
    entry.encoded = encoded;
    this.#hot[this.#nextHot] = entry;
    this.#nextHot = (this.#nextHot + 1) % maxHotEntries;
    return encoded;
  }

  /** False when it is not a vector. True for a vector that is too large to be cached. */
  set(key: string, { vector, tokens }: CachedEmbedding): boolean {
    const length = dimensionsOf(vector);
    if (length < 0) return false;
    const before = this.#entries.get(key);
    if (before) this.#remove(before);
    const slab = this.#makeRoom(sizeClassOf(length * 4));
    if (!slab) return inspectVector(vector) !== undefined;
    // Written before the slot is allocated: if it is not a vector, nothing has to be undone.
    if (!slab.write(slab.nextSlot, vector, length)) return false;
    const entry = this.#enter(key, slab, length, tokens);
    this.#linkNewest(entry);
    this.#persistence?.add(key, { vector: slab.view(entry.slot, length), tokens });
    this.#countOperation();
    return true;
  }

  /** Clears the cache, the persisted vectors too. */
  clear(): void {
    for (const entry of this.#entries.values()) this.#remove(entry);
    this.#persistence?.clear();
  }

  /** Restores a persisted vector; the most recently used come first. False when the cache is full. */
  restore(key: string, vector: Float32Array, tokens: number | undefined): boolean {
    if (this.#entries.has(key)) return true;
    const slab = this.#hasRoom(0) ? this.#freeSlab(sizeClassOf(vector.byteLength)) : undefined;
    if (!slab) return false;
    slab.write(slab.nextSlot, vector, vector.length);
    const entry = this.#enter(key, slab, vector.length, tokens);
    entry.newer = this.#oldest;
    if (this.#oldest) this.#oldest.older = entry;
    else this.#newest = entry;
    this.#oldest = entry;
    return true;
  }

  /** Whether there is room for one more entry and `bytes` bytes. */
  #hasRoom(bytes: number): boolean {
    return this.bytes + entryOverhead + bytes <= this.#maxBytes;
  }

  /** A slab with a free slot, without an eviction. */
  #freeSlab(slotBytes: number): Slab<Entry> | undefined {
    const { slabBytes } = this.#allocator;
    if (slotBytes > slabBytes) return undefined;
    const slab = this.#allocator.slabWith(slotBytes);
    if (slab || !this.#hasRoom(slabBytes)) return slab;
    this.#allocator.grow();
    return this.#allocator.slabWith(slotBytes);
  }

  /** Evicts one entry, or all entries of one slab. Undefined where the cache is too small for the vector. */
  #makeRoom(slotBytes: number): Slab<Entry> | undefined {
    const { slabBytes } = this.#allocator;
    if (slotBytes > slabBytes || slabBytes + entryOverhead > this.#maxBytes) return undefined;
    // Shorter vectors mean more entries, whose overhead reduces the number of slabs.
    if (!this.#hasRoom(0) && !this.#allocator.shrink()) this.#evictOldest();
    const free = this.#freeSlab(slotBytes);
    if (free) return free;
    this.#freeSlot(slotBytes);
    return this.#allocator.slabWith(slotBytes);
  }

  /** Evicts the oldest entry of that size class, or, where none is old, all entries in the slab of the oldest entry. */
  #freeSlot(slotBytes: number): void {
    let entry = this.#oldest;
    const limit = Math.min(maxSearched, 1 + this.#entries.size / oldestOf);
    for (let searched = 0; entry && searched < limit; searched++) {
      if (entry.slab.slotBytes === slotBytes) {
        this.#remove(entry);
        return;
      }
      entry = entry.newer;
    }
    for (const owner of this.#oldest?.slab.owners ?? []) this.#remove(owner);
  }

  #countOperation(): void {
    if (++this.#operations % operationsBetweenHints === 0) Bun.gc(false);
  }

  #enter(key: string, slab: Slab<Entry>, length: number, tokens: number | undefined): Entry {
    const entry = new Entry(key, slab, length, tokens);
    this.#allocator.allocate(entry);
    this.#entries.set(key, entry);
    return entry;
  }

  #linkNewest(entry: Entry): void {
    entry.newer = undefined;
    entry.older = this.#newest;
    if (this.#newest) this.#newest.newer = entry;
    else this.#oldest = entry;
    this.#newest = entry;
  }

  #unlink({ newer, older }: Entry): void {
    if (newer) newer.older = older;
    else this.#newest = older;
    if (older) older.newer = newer;
    else this.#oldest = newer;
  }

  #evictOldest(): void {
    if (this.#oldest) this.#remove(this.#oldest);
  }

  #remove(entry: Entry): void {
    entry.encoded = undefined;
    this.#unlink(entry);
    this.#entries.delete(entry.key);
    this.#allocator.free(entry);
  }
}

const read = (
  { slab, slot, length, tokens }: Entry,
  encoding: "float" | "base64",
): CachedEmbedding => ({
  vector: slab.read(slot, length, encoding),
  tokens,
});

/** A multiple of 4, the size of a float32. */
const slabBytesFor = (maxBytes: number): number =>
  Math.min(maxSlabBytes, Math.max(minSlabBytes, Math.floor(maxBytes / usualSlabs / 4) * 4));
