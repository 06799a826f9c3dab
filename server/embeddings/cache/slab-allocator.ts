/**
 * The bytes of known vectors, in pages that are written again and again. With an array for each vector it would be the
 * garbage collector's choice when those of forgotten ones are free, and it lets several times as much pile up.
 * Nothing that leaves may be a view: a slot is written again as soon as its vector is forgotten.
 */
import { EncodedVector } from "../../lib/codec/encoded-vector.ts";
import type { Vector } from "../../upstream/contract.ts";

/** Whoever has a slot. */
interface SlotOwner<T> {
  readonly slab: Slab<T>;
  readonly slot: number;
}

/** With the largest page, it bounds how many must go when a page changes hands. */
const leastSlot = 512;

/** Eight sizes for each doubling: the usual lengths fit exactly, and no choice of lengths makes many sizes. */
export function sizeClassOf(bytes: number): number {
  if (bytes <= leastSlot) return leastSlot;
  const step = 1 << (31 - Math.clz32(bytes - 1) - 3);
  return Math.ceil(bytes / step) * step;
}

/** Divided into slots of one size, anew whenever it is empty. */
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

  /** Of one that is not full. */
  get nextSlot(): number {
    return this.#free.at(-1) as number;
  }

  get owners(): readonly T[] {
    return this.#owners.filter((tenant) => tenant !== undefined);
  }

  /** Of one that is empty. */
  divide(slotBytes: number): void {
    if (slotBytes === this.#slotBytes) return;
    const count = Math.floor(this.#memory.byteLength / slotBytes);
    this.#slotBytes = slotBytes;
    this.#owners = new Array(count).fill(undefined);
    // The last is taken first.
    this.#free = Array.from({ length: count }, (_, at) => count - 1 - at);
  }

  /** The next slot is this one's from now on. */
  allocate(tenant: T): void {
    this.#owners[this.#free.pop() as number] = tenant;
  }

  free(slot: number): void {
    this.#owners[slot] = undefined;
    this.#free.push(slot);
  }

  /** False when the text is not base64 of that many numbers, as strict decoders want it. */
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
      const place = new Uint8Array(this.#memory, from, length * 4);
      const { read, written } = place.setFromBase64(vector, { lastChunkHandling: "strict" });
      return read === vector.length && written === place.length;
    } catch {
      return false;
    }
  }

  /** A copy, in the form that is asked for. */
  read(slot: number, length: number, encoding: "float" | "base64"): string | Float32Array {
    const from = slot * this.#slotBytes;
    return encoding === "base64"
      ? this.#bytes.toString("base64", from, from + length * 4)
      : this.#floats.slice(from / 4, from / 4 + length);
  }

  /** A view: whoever gets it makes a copy at once. */
  view(slot: number, length: number): Float32Array {
    const from = (slot * this.#slotBytes) / 4;
    return this.#floats.subarray(from, from + length);
  }

  /** Of one that is empty and will not be used again. Its memory is free at once, without the garbage collector. */
  discard(): void {
    this.#memory.transfer(0);
  }
}

/** Which pages there are, and where a slot is free. Whose vector must go for another is not decided here. */
export class SlabAllocator<T extends SlotOwner<T>> {
  readonly slabBytes: number;
  #slabs = 0;
  readonly #empty: Slab<T>[] = [];
  /** Those with tenants and free slots, by the size of their slots. */
  readonly #open = new Map<number, Slab<T>[]>();

  constructor(pageBytes: number) {
    this.slabBytes = pageBytes;
  }

  get bytes(): number {
    return this.#slabs * this.slabBytes;
  }

  /** One that has a free slot of this size. */
  slabWith(slotBytes: number): Slab<T> | undefined {
    const open = this.#open.get(slotBytes)?.at(-1);
    if (open) return open;
    const empty = this.#empty.at(-1);
    empty?.divide(slotBytes);
    return empty;
  }

  grow(): void {
    this.#empty.push(new Slab(this.slabBytes));
    this.#slabs++;
  }

  /** False when no page is empty. */
  shrink(): boolean {
    const page = this.#empty.pop();
    if (!page) return false;
    page.discard();
    this.#slabs--;
    return true;
  }

  allocate(tenant: T): void {
    const { slab: page } = tenant;
    const open = this.#openOf(page);
    if (page.isEmpty) {
      drop(this.#empty, page);
      open.push(page);
    }
    page.allocate(tenant);
    if (page.isFull) drop(open, page);
  }

  free({ slab: page, slot }: T): void {
    const open = this.#openOf(page);
    if (page.isFull) open.push(page);
    page.free(slot);
    if (page.isEmpty) {
      drop(open, page);
      this.#empty.push(page);
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

/** Order does not matter, and mostly it is the last. */
function drop<T>(list: T[], one: T): void {
  const at = list.lastIndexOf(one);
  const last = list.pop() as T;
  if (at < list.length) list[at] = last;
}
