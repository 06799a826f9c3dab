/** Vectors that are known already, in memory and bounded by bytes. What was used least recently goes first. */
import type { Vector } from "../../upstream/contract.ts";
import { dimensionsOf, inspectVector } from "../vector-formats.ts";
import { type Slab, SlabAllocator, sizeClassOf } from "./slab-allocator.ts";

export interface CachedEmbedding {
  readonly vector: Vector;
  /** This input's share of what the upstream counted. Undefined: it did not say. */
  readonly tokens: number | undefined;
}

/** Where vectors outlive the process. It is told of each new one, and of each use. */
export interface CachePersistence {
  /** The vector is a view that will be written over: what is needed of it is copied at once. */
  add(key: string, known: CachedEmbedding & { readonly vector: Float32Array }): void;
  touch(key: string): void;
  clear(): void;
}

export interface EmbeddingCacheOptions {
  /** Of the pages and all entries together. 0: nothing is remembered. */
  readonly maxBytes: number;
  readonly persistence?: CachePersistence;
  /** No vector may be larger. */
  readonly slabBytes?: number;
}

/** What an entry takes beside its vector, key included. Measured as resident memory, with 80,000 of them. */
export const entryOverhead = 400;

const [leastPage, largestPage] = [16 * 1024, 256 * 1024];
/** So that vectors of several lengths find room in a small memory too. */
const usualPages = 32;
/**
 * How far among the oldest one of the right size is looked for, before a page is cleared for it: the oldest of so many.
 * Further, and what there are few of could never become more; less far, and pages would be cleared without need.
 */
const oldestOf = 64;
const maxLook = 256;
/**
 * How many vectors come or go between two hints to the garbage collector. It takes the pages for a grown heap, and left
 * to itself lets twice as much garbage pile up beside them.
 */
const movesBetweenHints = 4096;

/** So many of those that are asked for again and again are held ready as text, beside the memory's own bytes. */
const mostReady = 1024;

/**
 * A list through the entries, because a Map alone does not do: its order is that of insertion, but taking the first key
 * of one that has had many deletions passes over all of them, and an entry cannot be put at the old end.
 */
class Entry {
  readonly key: string;
  readonly slab: Slab<Entry>;
  readonly slot: number;
  readonly length: number;
  readonly tokens: number | undefined;
  /** It was asked for before. */
  wasRequested = false;
  encoded: CachedEmbedding | undefined = undefined;
  newer: Entry | undefined = undefined;
  older: Entry | undefined = undefined;

  constructor(key: string, page: Slab<Entry>, length: number, tokens: number | undefined) {
    this.key = key;
    this.slab = page;
    this.slot = page.nextSlot;
    this.length = length;
    this.tokens = tokens;
  }
}

export class EmbeddingCache {
  readonly #maxBytes: number;
  readonly #keeper: CachePersistence | undefined;
  readonly #arena: SlabAllocator<Entry>;
  readonly #entries = new Map<string, Entry>();
  #newest: Entry | undefined;
  #oldest: Entry | undefined;
  #moves = 0;
  /** Those that are held ready; the place of the oldest is the next to be taken. */
  readonly #ready: (Entry | undefined)[] = [];
  #nextReady = 0;

  constructor({ maxBytes, persistence: keeper, slabBytes: pageBytes }: EmbeddingCacheOptions) {
    this.#maxBytes = maxBytes;
    this.#keeper = keeper;
    this.#arena = new SlabAllocator(pageBytes ?? pageBytesOf(maxBytes));
  }

  /** Pages that are not full count whole. */
  get bytes(): number {
    return this.#arena.bytes + this.#entries.size * entryOverhead;
  }

  get size(): number {
    return this.#entries.size;
  }

  /**
   * A copy, in the form that is asked for: by the time it is written to the caller, the memory may have forgotten it.
   * The same object as long as it is held ready, so that others can keep what they have made of it.
   */
  get(key: string, encoding: "float" | "base64"): CachedEmbedding | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry !== this.#newest) {
      this.#unlink(entry);
      this.#linkNewest(entry);
    }
    this.#keeper?.touch(key);
    this.#moved();
    if (encoding === "base64" && entry.wasRequested) return entry.encoded ?? this.#makeReady(entry);
    entry.wasRequested = true;
    return read(entry, encoding);
  }

  #makeReady(entry: Entry): CachedEmbedding {
    const ready = read(entry, "base64");
    const before = this.#ready[this.#nextReady];
    if (before) before.encoded = undefined;
    entry.encoded = ready;
    this.#ready[this.#nextReady] = entry;
    this.#nextReady = (this.#nextReady + 1) % mostReady;
    return ready;
  }

  /** False when it is no vector. One that there is no room for is a vector all the same. */
  set(key: string, { vector, tokens }: CachedEmbedding): boolean {
    const length = dimensionsOf(vector);
    if (length < 0) return false;
    const before = this.#entries.get(key);
    if (before) this.#remove(before);
    const page = this.#makeRoom(sizeClassOf(length * 4));
    if (!page) return inspectVector(vector) !== undefined;
    // Before it is anyone's: if it turns out to be no vector, there is nothing to undo.
    if (!page.write(page.nextSlot, vector, length)) return false;
    const entry = this.#enter(key, page, length, tokens);
    this.#linkNewest(entry);
    this.#keeper?.add(key, { vector: page.view(entry.slot, length), tokens });
    this.#moved();
    return true;
  }

  /** Everything, also what outlives the process. */
  clear(): void {
    for (const entry of this.#entries.values()) this.#remove(entry);
    this.#keeper?.clear();
  }

  /** What an earlier process knew, the most recently used first. False when there is no room for more. */
  restore(key: string, vector: Float32Array, tokens: number | undefined): boolean {
    if (this.#entries.has(key)) return true;
    const page = this.#room(0) ? this.#freePage(sizeClassOf(vector.byteLength)) : undefined;
    if (!page) return false;
    page.write(page.nextSlot, vector, vector.length);
    const entry = this.#enter(key, page, vector.length, tokens);
    entry.newer = this.#oldest;
    if (this.#oldest) this.#oldest.older = entry;
    else this.#newest = entry;
    this.#oldest = entry;
    return true;
  }

  /** For one more entry, and this beside it. */
  #room(bytes: number): boolean {
    return this.bytes + entryOverhead + bytes <= this.#maxBytes;
  }

  /** Nobody has to go for it. */
  #freePage(slotBytes: number): Slab<Entry> | undefined {
    const { slabBytes: pageBytes } = this.#arena;
    if (slotBytes > pageBytes) return undefined;
    const page = this.#arena.slabWith(slotBytes);
    if (page || !this.#room(pageBytes)) return page;
    this.#arena.grow();
    return this.#arena.slabWith(slotBytes);
  }

  /** One goes, or those of one page. Undefined where all of them would not be enough. */
  #makeRoom(slotBytes: number): Slab<Entry> | undefined {
    const { slabBytes: pageBytes } = this.#arena;
    if (slotBytes > pageBytes || pageBytes + entryOverhead > this.#maxBytes) return undefined;
    // Where vectors become shorter there are more of them, and what they take beside the pages is taken from the pages.
    if (!this.#room(0) && !this.#arena.shrink()) this.#forgetOldest();
    const free = this.#freePage(slotBytes);
    if (free) return free;
    this.#freeSlot(slotBytes);
    return this.#arena.slabWith(slotBytes);
  }

  /** The oldest of that size, or where none of them is old, all that share a page with the oldest of all. */
  #freeSlot(slotBytes: number): void {
    let entry = this.#oldest;
    const look = Math.min(maxLook, 1 + this.#entries.size / oldestOf);
    for (let looked = 0; entry && looked < look; looked++) {
      if (entry.slab.slotBytes === slotBytes) {
        this.#remove(entry);
        return;
      }
      entry = entry.newer;
    }
    for (const tenant of this.#oldest?.slab.owners ?? []) this.#remove(tenant);
  }

  #moved(): void {
    if (++this.#moves % movesBetweenHints === 0) Bun.gc(false);
  }

  #enter(key: string, page: Slab<Entry>, length: number, tokens: number | undefined): Entry {
    const entry = new Entry(key, page, length, tokens);
    this.#arena.allocate(entry);
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

  #forgetOldest(): void {
    if (this.#oldest) this.#remove(this.#oldest);
  }

  #remove(entry: Entry): void {
    entry.encoded = undefined;
    this.#unlink(entry);
    this.#entries.delete(entry.key);
    this.#arena.free(entry);
  }
}

const read = (
  { slab: page, slot, length, tokens }: Entry,
  encoding: "float" | "base64",
): CachedEmbedding => ({
  vector: page.read(slot, length, encoding),
  tokens,
});

/** Of whole numbers. */
const pageBytesOf = (maxBytes: number): number =>
  Math.min(largestPage, Math.max(leastPage, Math.floor(maxBytes / usualPages / 4) * 4));
