/**
 * Embedding cache in memory, bounded by bytes, with a time to live (TTL) and LRU eviction. The least recently used
 * entry of the right size class is evicted first; if none of the old entries has that size, the slab of the oldest
 * entry is cleared.
 *
 * Scan resistance (segmented LRU): each entry is in one of three lists. New entries are in the main list (probation);
 * the second hit moves an entry to the protected list. While the protected list has no more than its share, new entries
 * evict entries of the main list only, so a scan of many new texts does not evict the entries that are used. Entries
 * of bulk requests have a list with a small share, so that they do not evict the main list either.
 */
import type { EmbeddingCacheStore } from "../../storage/ports/embedding-cache-store.ts";
import type { SharedEmbedding } from "../../storage/ports/shared-embeddings.ts";
import type { Vector } from "../../upstream/contract.ts";
import { dimensionsOf, inspectVector } from "../vector-formats.ts";
import {
  EvictedKeys,
  LruList,
  type Slab,
  SlabAllocator,
  slotSizeClassOf,
} from "./slab-allocator.ts";

export interface CachedEmbedding {
  readonly vector: Vector;
  /** This input's share of the tokens that the upstream reported. Undefined: the upstream reported none. */
  readonly tokens: number | undefined;
}

/** Keeps cached vectors in a file, in Redis, or in both. Called for each new vector, and for each use. */
export type CachePersistence = Pick<EmbeddingCacheStore, "add" | "remove" | "touch" | "clear">;

export interface EmbeddingCacheOptions {
  /** The maximum bytes of slabs and entries together. 0: nothing is cached. */
  readonly maxBytes: number;
  readonly persistence?: CachePersistence;
  /** No vector may be larger. */
  readonly slabBytes?: number;
  /** For models whose weights may change under the same name. Absent: vectors do not expire. */
  readonly expiry?: {
    /** How long a vector is valid, counted from when it was made; use does not extend it. */
    readonly ttlMs: number;
    /** Unix milliseconds. */
    readonly now: () => number;
  };
}

/** The properties of an entry besides its vector. */
interface EntryDetails {
  readonly length: number;
  readonly tokens: number | undefined;
  readonly madeAt: number;
}

/** Bytes of an entry besides its vector, key included. Measured as resident memory, with 80,000 entries. */
export const entryOverhead = 400;

const [minSlabBytes, maxSlabBytes] = [16 * 1024, 256 * 1024];
/** Enough slabs that a small cache can hold vectors of several lengths. */
const usualSlabs = 32;
/**
 * How many of the oldest entries are searched for one of the right size class before a slab is cleared: one in
 * `oldestOf`, at most `maxSearched`. With a longer search, a rare size class could never grow; with a shorter one,
 * slabs would be cleared without need.
 */
const oldestOf = 64;
const maxSearched = 256;
/** How many old entries are searched for slots of protected entries when a slab is cleared. */
const maxReplaced = 4096;
/**
 * Cache operations between two hints to the garbage collector. It counts the slabs as heap growth, and without hints
 * lets twice as much garbage accumulate.
 */
const operationsBetweenHints = 4096;
/** The share of a full cache that the entries of bulk requests may have. */
export const bulkShare = 1 / 16;
/** The share of a full cache that protected entries may have. */
export const protectedShare = 4 / 5;
/** A smaller cache is a plain LRU: too few entries would stay long enough for a second hit. */
const minSegmentedBytes = 16 * 1024;
/** For this many bytes of the cache, the hash of one evicted key is kept, in four bytes. */
const bytesPerEvictedKey = 2048;

/** Slabs that are freed in one turn of the event loop after a clear. */
const slabsPerStep = 64;

/** The number of hot entries whose base64 text is kept, in addition to `maxBytes`. */
const maxHotEntries = 1024;

class CacheEntry {
  readonly key: string;
  /** The list that the entry is in. */
  list: LruList<CacheEntry>;
  slab: Slab<CacheEntry>;
  slot: number;
  readonly length: number;
  readonly tokens: number | undefined;
  /** Unix milliseconds. 0 in a cache without expiry. */
  readonly madeAt: number;
  /** The entry has been a cache hit. */
  wasRequested = false;
  encoded: CachedEmbedding | undefined = undefined;
  newer: CacheEntry | undefined = undefined;
  older: CacheEntry | undefined = undefined;

  constructor(
    key: string,
    list: LruList<CacheEntry>,
    slab: Slab<CacheEntry>,
    { length, tokens, madeAt }: EntryDetails,
  ) {
    this.key = key;
    this.list = list;
    this.slab = slab;
    this.slot = slab.nextSlot;
    this.length = length;
    this.tokens = tokens;
    this.madeAt = madeAt;
  }

  get bytes(): number {
    return this.slab.slotBytes + entryOverhead;
  }
}

export class EmbeddingCache {
  readonly #maxBytes: number;
  readonly #persistence: CachePersistence | undefined;
  readonly #expiry: EmbeddingCacheOptions["expiry"];
  readonly #allocator: SlabAllocator<CacheEntry>;
  #entries = new Map<string, CacheEntry>();
  /** New entries, and entries with one hit: the probation segment. */
  readonly #main = new LruList<CacheEntry>();
  /** Entries with several hits of interactive requests. In a small cache, the same list as `#main`. */
  readonly #protected: LruList<CacheEntry>;
  /** Entries of bulk requests that no interactive request has used. */
  readonly #bulk = new LruList<CacheEntry>();
  /** Undefined until the first eviction. */
  #evictedKeys: EvictedKeys | undefined;
  #operations = 0;
  #generation = 0;
  #isShrinking = false;
  /** Ring buffer of the hot entries; the oldest is replaced next. */
  readonly #hot: (CacheEntry | undefined)[] = [];
  #nextHot = 0;

  constructor({ maxBytes, persistence, slabBytes, expiry }: EmbeddingCacheOptions) {
    this.#maxBytes = maxBytes;
    this.#protected = maxBytes < minSegmentedBytes ? this.#main : new LruList();
    this.#persistence = persistence;
    this.#expiry = expiry;
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
   * Changes when the cache is cleared. The cache is cleared because vectors may be wrong, so a request drops the
   * vectors that it got before.
   */
  get generation(): number {
    return this.#generation;
  }

  /**
   * A copy in the requested encoding: the entry may be evicted before the response is written. The same object for as
   * long as the entry is hot, so that a response derived from it can be cached too. A bulk request does not count as a
   * use of an entry that interactive requests have cached. An expired entry is not returned; it stays until it is set
   * again or evicted.
   */
  get(key: string, encoding: "float" | "base64", isBulk = false): CachedEmbedding | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || this.#isExpired(entry.madeAt)) return undefined;
    const { list } = entry;
    const isPromoted = !isBulk && (list === this.#main ? entry.wasRequested : list === this.#bulk);
    if (isPromoted) this.#promote(entry);
    else if (!isBulk || list === this.#bulk) list.renew(entry);
    if (!isBulk) this.#persistence?.touch(key);
    this.#countOperation();
    if (encoding === "base64" && entry.wasRequested) return entry.encoded ?? this.#makeHot(entry);
    entry.wasRequested = true;
    return read(entry, encoding);
  }

  /** From the bulk list to the main list, or from there to the protected list. */
  #promote(entry: CacheEntry): void {
    const { list } = entry;
    list.remove(entry);
    entry.list = list === this.#bulk ? this.#main : this.#protected;
    entry.list.addNewest(entry);
  }

  #makeHot(entry: CacheEntry): CachedEmbedding {
    const encoded = read(entry, "base64");
    const replaced = this.#hot[this.#nextHot];
    if (replaced) replaced.encoded = undefined;
    entry.encoded = encoded;
    this.#hot[this.#nextHot] = entry;
    this.#nextHot = (this.#nextHot + 1) % maxHotEntries;
    return encoded;
  }

  /** Does not count as a use. */
  has(key: string): boolean {
    const entry = this.#entries.get(key);
    return entry !== undefined && !this.#isExpired(entry.madeAt);
  }

  /** Takes a vector from the cache that replicas share. It is not persisted. */
  adopt(key: string, { vector, tokens, madeAt }: SharedEmbedding, isBulk: boolean): void {
    if (this.#entries.has(key) || this.#isExpired(madeAt)) return;
    const list = this.#listFor(key, isBulk);
    const { length } = vector;
    const slab = this.#makeSpace(slotSizeClassOf(vector.byteLength), list);
    if (!slab?.write(slab.nextSlot, vector, length)) return;
    list.addNewest(this.#enter(key, list, slab, { length, tokens, madeAt }));
  }

  /** False: `vector` is a string, but not a base64 vector. True also for a vector that is too large to be cached. */
  set(key: string, { vector, tokens }: CachedEmbedding, isBulk = false): boolean {
    const length = dimensionsOf(vector);
    if (length < 0) return false;
    const before = this.#entries.get(key);
    // A refreshed entry stays in its list, unless an interactive request refreshes an entry of a bulk request.
    const staysInList = before && before.list !== this.#bulk;
    const list = staysInList ? before.list : this.#listFor(key, isBulk);
    if (before) this.#remove(before);
    const slab = this.#makeSpace(slotSizeClassOf(length * 4), list);
    if (!slab) return inspectVector(vector) !== undefined;
    // Written before the slot is allocated: if it is not a vector, nothing has to be undone.
    if (!slab.write(slab.nextSlot, vector, length)) return false;
    const madeAt = this.#expiry?.now() ?? 0;
    const entry = this.#enter(key, list, slab, { length, tokens, madeAt });
    list.addNewest(entry);
    if (this.#persistence) {
      const persisted = { vector: slab.view(entry.slot, length), tokens };
      this.#persistence.add(key, persisted, list === this.#bulk);
    }
    this.#countOperation();
    return true;
  }

  /** Before vectors are replaced: the persisted ones are not used again, even if the new ones are not persisted. */
  removePersisted(keys: readonly string[]): void {
    this.#persistence?.remove(keys);
  }

  /** Clears the cache, the persisted vectors too. When the promise resolves, their disk space is free. */
  async clear(): Promise<void> {
    this.clearMemory();
    await this.#persistence?.clear();
  }

  /** The entries are gone when this returns. Their memory is freed in steps. */
  clearMemory(): void {
    this.#generation++;
    // A new map: `clear` would keep a reference to the table of the old one.
    this.#entries = new Map();
    for (const list of [this.#main, this.#protected, this.#bulk]) list.clear();
    this.#evictedKeys = undefined;
    this.#hot.length = 0;
    this.#nextHot = 0;
    this.#allocator.freeAll();
    if (this.#isShrinking) return;
    this.#isShrinking = true;
    this.#shrink();
  }

  /** Returns empty slabs to the operating system, in steps: a cache of gigabytes would block the event loop. */
  readonly #shrink = (): void => {
    let slabs = 0;
    while (slabs < slabsPerStep && this.#allocator.shrink()) slabs++;
    this.#isShrinking = slabs === slabsPerStep;
    if (this.#isShrinking) setImmediate(this.#shrink);
  };

  /** Restores a persisted vector; the most recently used come first. False when the cache is full. */
  restore(key: string, vector: Float32Array, tokens: number | undefined, madeAt = 0): boolean {
    if (this.#entries.has(key) || this.#isExpired(madeAt)) return true;
    const slab = this.#hasSpace(0) ? this.#freeSlab(slotSizeClassOf(vector.byteLength)) : undefined;
    if (!slab) return false;
    slab.write(slab.nextSlot, vector, vector.length);
    const { length } = vector;
    const entry = this.#enter(key, this.#main, slab, { length, tokens, madeAt });
    this.#main.addOldest(entry);
    return true;
  }

  /**
   * The list of a new entry. A key that was evicted recently and is requested again is protected at once (2Q). So a new
   * working set replaces the protected entries even if it is too large to get two hits in the main list.
   */
  #listFor(key: string, isBulk: boolean): LruList<CacheEntry> {
    if (isBulk) return this.#bulk;
    return this.#evictedKeys?.has(key) ? this.#protected : this.#main;
  }

  #isExpired(madeAt: number): boolean {
    return this.#expiry !== undefined && this.#expiry.now() - madeAt >= this.#expiry.ttlMs;
  }

  /** Whether there is space for one more entry and `bytes` bytes. */
  #hasSpace(bytes: number): boolean {
    return this.bytes + entryOverhead + bytes <= this.#maxBytes;
  }

  /** A slab with a free slot, without an eviction. */
  #freeSlab(slotBytes: number): Slab<CacheEntry> | undefined {
    const { slabBytes } = this.#allocator;
    if (slotBytes > slabBytes) return undefined;
    const slab = this.#allocator.slabWith(slotBytes);
    if (slab || !this.#hasSpace(slabBytes)) return slab;
    this.#allocator.grow();
    return this.#allocator.slabWith(slotBytes);
  }

  /** Evicts one entry, or all entries of one slab. Undefined where the cache is too small for the vector. */
  #makeSpace(slotBytes: number, list: LruList<CacheEntry>): Slab<CacheEntry> | undefined {
    const { slabBytes } = this.#allocator;
    if (slotBytes > slabBytes || slabBytes + entryOverhead > this.#maxBytes) return undefined;
    // Shorter vectors mean more entries, whose overhead reduces the number of slabs.
    if (!this.#hasSpace(0) && !this.#allocator.shrink()) {
      const { oldest } = this.#evictedList(slotBytes, list);
      if (oldest) this.#evict(oldest);
    }
    const free = this.#freeSlab(slotBytes);
    if (free) return free;
    this.#freeSlot(slotBytes, this.#evictedList(slotBytes, list));
    return this.#allocator.slabWith(slotBytes);
  }

  /** The list that frees space for an entry of `list`: one that has more than its share, or the main list. */
  #evictedList(slotBytes: number, list: LruList<CacheEntry>): LruList<CacheEntry> {
    const main = this.#main;
    const bulk = this.#bulk;
    const protectedList = this.#protected;
    const added = slotBytes + entryOverhead;
    const bulkBytes = bulk.bytes + (list === bulk ? added : 0);
    if (bulk.oldest && bulkBytes > this.#maxBytes * bulkShare) return bulk;
    // A share of the entries, not of the slabs: otherwise, in slabs with unused space, protected entries would leave
    // no space for new ones.
    const protectedBytes = protectedList.bytes + (list === protectedList ? added : 0);
    const maxProtectedBytes = (main.bytes + bulkBytes + protectedBytes) * protectedShare;
    if (protectedList.oldest && protectedBytes > maxProtectedBytes) return protectedList;
    if (main.oldest) return main;
    return bulk.oldest ? bulk : protectedList;
  }

  /** Evicts the oldest entry of that size class, or, where none is old, clears the slab of the oldest entry. */
  #freeSlot(slotBytes: number, list: LruList<CacheEntry>): void {
    let entry = list.oldest;
    const limit = Math.min(maxSearched, 1 + this.#entries.size / oldestOf);
    for (let searched = 0; entry && searched < limit; searched++) {
      if (entry.slab.slotBytes === slotBytes) {
        this.#evict(entry);
        return;
      }
      entry = entry.newer;
    }
    if (list.oldest) this.#clearSlab(list.oldest.slab, list);
  }

  /**
   * Evicts the entries of a slab. Protected entries move to the slots of old entries of `list` in other slabs, which
   * are evicted instead.
   */
  #clearSlab(slab: Slab<CacheEntry>, list: LruList<CacheEntry>): void {
    const moved: CacheEntry[] = [];
    for (const owner of slab.owners) {
      if (owner.list === this.#protected && owner.list !== list) moved.push(owner);
      else this.#evict(owner);
    }
    let [next, searched] = [list.oldest, 0];
    for (const entry of moved) {
      while (next && next.slab.slotBytes !== slab.slotBytes && searched++ < maxReplaced)
        next = next.newer;
      const replaced = searched < maxReplaced ? next : undefined;
      next = next?.newer;
      if (replaced) exchangeSlots(entry, replaced);
      this.#evict(replaced ?? entry);
    }
  }

  #countOperation(): void {
    if (++this.#operations % operationsBetweenHints === 0) Bun.gc(false);
  }

  #enter(
    key: string,
    list: LruList<CacheEntry>,
    slab: Slab<CacheEntry>,
    details: EntryDetails,
  ): CacheEntry {
    const entry = new CacheEntry(key, list, slab, details);
    this.#allocator.allocate(entry);
    this.#entries.set(entry.key, entry);
    return entry;
  }

  #evict(entry: CacheEntry): void {
    if (entry.list !== this.#bulk) {
      this.#evictedKeys ??= new EvictedKeys(this.#maxBytes / bytesPerEvictedKey);
      this.#evictedKeys.add(entry.key);
    }
    this.#remove(entry);
  }

  #remove(entry: CacheEntry): void {
    entry.encoded = undefined;
    entry.list.remove(entry);
    this.#entries.delete(entry.key);
    this.#allocator.free(entry);
  }
}

/** Both are of one size class. The vector of `replaced` is lost. */
function exchangeSlots(moved: CacheEntry, replaced: CacheEntry): void {
  const { slab, slot, length } = moved;
  replaced.slab.write(replaced.slot, slab.view(slot, length), length);
  [moved.slab, moved.slot] = [replaced.slab, replaced.slot];
  [replaced.slab, replaced.slot] = [slab, slot];
  for (const entry of [moved, replaced]) entry.slab.replaceOwner(entry.slot, entry);
}

const read = (
  { slab, slot, length, tokens }: CacheEntry,
  encoding: "float" | "base64",
): CachedEmbedding => ({
  vector: slab.read(slot, length, encoding),
  tokens,
});

/** A multiple of 4, the size of a float32. */
const slabBytesFor = (maxBytes: number): number =>
  Math.min(maxSlabBytes, Math.max(minSlabBytes, Math.floor(maxBytes / usualSlabs / 4) * 4));
