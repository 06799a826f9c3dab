/** The memory of the embedding cache, in slabs, and the order in which its entries are evicted (LRU). */
import { EncodedVector } from "../../lib/vector-codec/index.ts";
import type { Vector } from "../../upstream/contract.ts";

/** The owner of a slot: a cache entry. */
interface SlotOwner<T> {
  readonly slab: Slab<T>;
  readonly slot: number;
}

/**
 * The bytes of the smallest slot. They bound the number of entries in a slab, all of which are evicted when the slab
 * changes its size class: a slab of 1 MiB has at most 2,048.
 */
const minSlotBytes = 512;

/** Eight size classes per doubling: the usual vector lengths fit exactly, and the number of size classes is bounded. */
export function slotSizeClassOf(bytes: number): number {
  if (bytes <= minSlotBytes) return minSlotBytes;
  const step = 1 << (31 - Math.clz32(bytes - 1) - 3);
  return Math.ceil(bytes / step) * step;
}

/** A slab: divided into slots of one size class, which can change while it is empty. */
export class Slab<T> {
  #slotBytes = 0;
  #owners: (T | undefined)[] = [];
  #free: number[] = [];
  readonly #memory: ArrayBuffer;
  readonly #bytes: Buffer;
  readonly #floats: Float32Array;

  constructor(bytes: number) {
    this.#memory = new ArrayBuffer(bytes);
    this.#bytes = Buffer.from(this.#memory);
    this.#floats = new Float32Array(this.#memory);
  }

  get slotBytes(): number {
    return this.#slotBytes;
  }

  get isFull(): boolean {
    return this.#free.length === 0;
  }

  get isEmpty(): boolean {
    return this.#free.length === this.#owners.length;
  }

  /** The slot that the next allocation takes. Only for a slab that is not full. */
  get nextSlot(): number {
    return this.#free.at(-1) as number;
  }

  get owners(): readonly T[] {
    return this.#owners.filter((owner) => owner !== undefined);
  }

  /** Sets the size class. Only for an empty slab. */
  divide(slotBytes: number): void {
    if (slotBytes === this.#slotBytes) return;
    const count = Math.floor(this.#memory.byteLength / slotBytes);
    this.#slotBytes = slotBytes;
    this.#owners = new Array(count).fill(undefined);
    // Slots are taken from the end of the free list.
    this.#free = Array.from({ length: count }, (_, at) => count - 1 - at);
  }

  /** Allocates the next slot to this owner. */
  allocate(owner: T): void {
    this.#owners[this.#free.pop() as number] = owner;
  }

  /** Gives an allocated slot to another owner. */
  replaceOwner(slot: number, owner: T): void {
    this.#owners[slot] = owner;
  }

  free(slot: number): void {
    this.#owners[slot] = undefined;
    this.#free.push(slot);
  }

  /** False when the text is not strict base64 of `length` numbers. */
  write(slot: number, vector: Vector, length: number): boolean {
    const from = slot * this.#slotBytes;
    if (vector instanceof EncodedVector) {
      vector.decode().copy(this.#bytes, from);
      return true;
    }
    if (typeof vector !== "string") {
      this.#floats.set(vector, from / 4);
      return true;
    }
    try {
      const target = new Uint8Array(this.#memory, from, length * 4);
      const { read, written } = target.setFromBase64(vector, { lastChunkHandling: "strict" });
      return read === vector.length && written === target.length;
    } catch {
      return false;
    }
  }

  /** A copy in the requested encoding. */
  read(slot: number, length: number, encoding: "float" | "base64"): string | Float32Array {
    const from = slot * this.#slotBytes;
    return encoding === "base64"
      ? this.#bytes.toString("base64", from, from + length * 4)
      : this.#floats.slice(from / 4, from / 4 + length);
  }

  /** A view, which must be copied synchronously. */
  view(slot: number, length: number): Float32Array {
    const from = (slot * this.#slotBytes) / 4;
    return this.#floats.subarray(from, from + length);
  }

  /** Frees all slots. The slab has no size class until it is divided. */
  freeAll(): void {
    this.#slotBytes = 0;
    this.#owners = [];
    this.#free = [];
  }

  /** Frees the memory of an empty slab immediately, without the garbage collector. */
  discard(): void {
    this.#memory.transfer(0);
  }
}

/**
 * Slab allocator for the bytes of cached vectors: slabs are divided into slots of one size class and reused. With an
 * array per vector, the garbage collector would decide when evicted vectors are freed, and would let several times as
 * much memory accumulate. No view may leave the cache: a slot is overwritten as soon as its vector is evicted. Tracks
 * the slabs and their free slots. The cache decides which vector is evicted.
 */
export class SlabAllocator<T extends SlotOwner<T>> {
  readonly slabBytes: number;
  readonly #slabs: Slab<T>[] = [];
  readonly #empty: Slab<T>[] = [];
  /** Partly filled slabs, by size class. */
  readonly #open = new Map<number, Slab<T>[]>();

  constructor(slabBytes: number) {
    this.slabBytes = slabBytes;
  }

  get bytes(): number {
    return this.#slabs.length * this.slabBytes;
  }

  /** A slab with a free slot of this size class. */
  slabWith(slotBytes: number): Slab<T> | undefined {
    const open = this.#open.get(slotBytes)?.at(-1);
    if (open) return open;
    const empty = this.#empty.at(-1);
    empty?.divide(slotBytes);
    return empty;
  }

  grow(): void {
    const slab = new Slab<T>(this.slabBytes);
    this.#slabs.push(slab);
    this.#empty.push(slab);
  }

  /** False when no slab is empty. */
  shrink(): boolean {
    const slab = this.#empty.pop();
    if (!slab) return false;
    slab.discard();
    drop(this.#slabs, slab);
    return true;
  }

  /** Frees the slots of all owners, without a step for each owner. All slabs are empty then. */
  freeAll(): void {
    this.#open.clear();
    this.#empty.length = 0;
    for (const slab of this.#slabs) {
      slab.freeAll();
      this.#empty.push(slab);
    }
  }

  allocate(owner: T): void {
    const { slab } = owner;
    const open = this.#openOf(slab);
    if (slab.isEmpty) {
      drop(this.#empty, slab);
      open.push(slab);
    }
    slab.allocate(owner);
    if (slab.isFull) drop(open, slab);
  }

  free({ slab, slot }: T): void {
    const open = this.#openOf(slab);
    if (slab.isFull) open.push(slab);
    slab.free(slot);
    if (slab.isEmpty) {
      drop(open, slab);
      this.#empty.push(slab);
    }
  }

  #openOf({ slotBytes }: Slab<T>): Slab<T>[] {
    const found = this.#open.get(slotBytes);
    if (found) return found;
    const open: Slab<T>[] = [];
    this.#open.set(slotBytes, open);
    return open;
  }
}

/** Swap-removes an item: the order does not matter, and mostly it is the last. */
function drop<T>(list: T[], one: T): void {
  const at = list.lastIndexOf(one);
  const last = list.pop() as T;
  if (at < list.length) list[at] = last;
}

interface LruEntry<E> {
  /** The bytes of the entry. */
  readonly bytes: number;
  newer: E | undefined;
  older: E | undefined;
}

/**
 * A doubly linked list of cache entries by their last use (LRU). A Map is not enough: it is in insertion order, but
 * reading the first key after many deletions steps over all of them, and an entry cannot be inserted at the old end.
 */
export class LruList<E extends LruEntry<E>> {
  newest: E | undefined;
  oldest: E | undefined;
  bytes = 0;

  addNewest(entry: E): void {
    entry.newer = undefined;
    entry.older = this.newest;
    if (this.newest) this.newest.newer = entry;
    else this.oldest = entry;
    this.newest = entry;
    this.bytes += entry.bytes;
  }

  addOldest(entry: E): void {
    entry.older = undefined;
    entry.newer = this.oldest;
    if (this.oldest) this.oldest.older = entry;
    else this.newest = entry;
    this.oldest = entry;
    this.bytes += entry.bytes;
  }

  /** Makes an entry of this list the newest. */
  renew(entry: E): void {
    if (entry === this.newest) return;
    this.remove(entry);
    this.addNewest(entry);
  }

  clear(): void {
    this.newest = undefined;
    this.oldest = undefined;
    this.bytes = 0;
  }

  remove(entry: E): void {
    const { newer, older } = entry;
    if (newer) newer.older = older;
    else this.newest = older;
    if (older) older.newer = newer;
    else this.oldest = newer;
    this.bytes -= entry.bytes;
  }
}

/**
 * The keys that were evicted last (ghost entries), as a table of their hashes. A newer key replaces one with the same
 * index, so the table forgets by itself. Two keys with the same hash are taken for each other, which changes only the
 * order of evictions.
 */
export class EvictedKeys {
  readonly #hashes: Uint32Array;

  constructor(count: number) {
    this.#hashes = new Uint32Array(Math.ceil(count));
  }

  add(key: string): void {
    const hash = hashOf(key);
    this.#hashes[hash % this.#hashes.length] = hash;
  }

  has(key: string): boolean {
    const hash = hashOf(key);
    return this.#hashes[hash % this.#hashes.length] === hash;
  }
}

/** Of the last characters only: keys are base64 of SHA-256, so these are as random as the whole key. */
function hashOf(key: string): number {
  let hash = 0;
  for (let at = key.length - 8; at < key.length; at++)
    hash = Math.imul(hash ^ key.charCodeAt(at), 0x9e3779b1);
  // The high bits of a product depend on all characters, the low bits do not.
  return (hash ^ (hash >>> 15)) >>> 0;
}
