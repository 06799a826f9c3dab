/**
 * Chunks of bytes with one owner, which frees their memory: left to the garbage collector, large chunks accumulate
 * faster than they are collected. Other files cannot free the bytes of a request or response.
 */
import type { BorrowedBytes } from "./borrowed-bytes.ts";

/**
 * Bytes in one or several chunks, which are read as if they were one buffer: joining them would take a copy. They have
 * one owner, which frees their memory once. After that, and after `take`, every use throws. Views of the chunks are
 * empty once the memory is freed.
 */
export class ChunkedBytes implements Disposable {
  #list: Buffer[] | undefined = [];
  readonly #isExclusive: boolean;
  /** The offset of each chunk. */
  readonly #offsets: number[] = [];
  #length = 0;
  /** The chunk that was read last. The next read is mostly in the same chunk. */
  #at = 0;

  /**
   * `isExclusive`: no other bytes in the buffers of the chunks are in use, so the whole buffers are freed. Otherwise
   * only a buffer that is one whole chunk is freed.
   */
  constructor(chunks: readonly Uint8Array[] = [], isExclusive = false) {
    this.#isExclusive = isExclusive;
    for (const chunk of chunks) if (chunk.length > 0 || chunks.length === 1) this.add(chunk);
  }

  static of(bytes: Uint8Array): ChunkedBytes {
    return new ChunkedBytes([bytes]);
  }

  /** From buffers that hold no other bytes in use: releasing the bytes frees the whole buffers. */
  static exclusive(chunks: readonly Uint8Array[] = []): ChunkedBytes {
    return new ChunkedBytes(chunks, true);
  }

  static allocate(bytes: number): ChunkedBytes {
    return ChunkedBytes.exclusive([Buffer.allocUnsafeSlow(bytes)]);
  }

  get length(): number {
    return this.#length;
  }

  get list(): readonly Buffer[] {
    return this.#held;
  }

  /** Takes the ownership of the chunk. */
  add(chunk: Uint8Array): void {
    this.#held.push(bufferOf(chunk));
    this.#offsets.push(this.#length);
    this.#length += chunk.length;
  }

  /** Moves the ownership of all chunks to the caller. */
  take(): Buffer[] {
    const chunks = this.#held;
    this.#list = undefined;
    return chunks;
  }

  /** Frees the memory now. `inUse`: a chunk whose buffer another owner frees. */
  release(inUse?: Uint8Array): void {
    for (const chunk of this.take()) if (chunk.buffer !== inUse?.buffer) this.#free(chunk);
  }

  [Symbol.dispose](): void {
    if (this.#list) this.release();
  }

  /** Lends the chunks in order. Frees each when the next one is requested, and all of them at the end. */
  async *drain(): AsyncGenerator<BorrowedBytes> {
    const chunks = this.list;
    try {
      for (const [at, chunk] of chunks.entries()) {
        yield chunk;
        // Consecutive chunks may be in one buffer.
        if (chunks[at + 1]?.buffer !== chunk.buffer) this.#free(chunk);
      }
    } finally {
      this.release();
    }
  }

  /** One buffer with all bytes. A copy if there are several chunks. */
  toBuffer(): Buffer {
    const { list } = this;
    return list.length === 1 ? (list[0] as Buffer) : Buffer.concat(list);
  }

  /** Undefined beyond the end. */
  byteAt(offset: number): number | undefined {
    const chunk = this.#find(offset);
    return this.list[chunk]?.[offset - (this.#offsets[chunk] as number)];
  }

  /** The offset of the first match between `from` and `to`; -1 if there is none. */
  indexOf(needle: number | Buffer, from: number, to = this.length): number {
    const { list } = this;
    for (let chunk = this.#find(from); chunk < list.length; chunk++) {
      const begin = this.#offsets[chunk] as number;
      if (begin >= to) return -1;
      const whole = list[chunk] as Buffer;
      const bytes = to < begin + whole.length ? whole.subarray(0, to - begin) : whole;
      const found = bytes.indexOf(needle, Math.max(0, from - begin));
      if (found >= 0) {
        this.#at = chunk;
        return begin + found;
      }
      if (typeof needle === "number") continue;
      const across = this.#indexAcross(needle, Math.max(from, begin), begin + bytes.length, to);
      if (across >= 0) return across;
    }
    return -1;
  }

  text(from: number, to = this.length): string {
    return this.view(from, to).toString("latin1");
  }

  /**
   * The bytes of a range: a copy only if the range spans several chunks. Throws if any of them were released, and never
   * returns part of the range.
   */
  view(from: number, to: number): Buffer {
    const chunk = this.#find(from);
    const begin = this.#offsets[chunk] as number;
    const bytes = this.list[chunk];
    if (bytes && to - begin <= bytes.length) return bytes.subarray(from - begin, to - begin);
    const copy = Buffer.allocUnsafe(to - from);
    this.copy(copy, 0, from, to);
    return copy;
  }

  /** Copies a range into `into`. Throws if any of its bytes were released. */
  copy(into: Buffer, at: number, from: number, to: number): void {
    const { list } = this;
    let copied = 0;
    for (let chunk = this.#find(from); from + copied < to; chunk++) {
      const begin = this.#offsets[chunk] as number;
      const bytes = list[chunk]?.copy(into, at + copied, from + copied - begin, to - begin);
      if (!bytes) throw new Error("The bytes have been released.");
      copied += bytes;
    }
  }

  get #held(): Buffer[] {
    if (!this.#list) throw new Error("The bytes have been released, or moved to another owner.");
    return this.#list;
  }

  #free(chunk: Uint8Array): void {
    if (this.#isExclusive || isWhole(chunk)) free(chunk.buffer);
  }

  #find(offset: number): number {
    const offsets = this.#offsets;
    let at = this.#at;
    while (at > 0 && offset < (offsets[at] as number)) at--;
    while (at + 1 < offsets.length && offset >= (offsets[at + 1] as number)) at++;
    this.#at = at;
    return at;
  }

  /** Finds a match that starts before `border` and ends after it. */
  #indexAcross(needle: Buffer, from: number, border: number, to: number): number {
    const first = Math.max(from, border - needle.length + 1);
    const last = Math.min(border + needle.length - 1, this.length, to);
    if (last - first < needle.length) return -1;
    const found = this.view(first, last).indexOf(needle);
    return found < 0 ? -1 : first + found;
  }
}

/** The initial size of a buffer is at least this. */
const minBytes = 16 * 1024;

/** One buffer for all chunks of a body: separate chunks would take the same memory again when joined. */
export class GrowingBytes implements Disposable {
  #owned: ChunkedBytes;
  #length = 0;

  /** `expected`: the length if it is known; the system assigns the memory as bytes are written. */
  constructor(expected: number) {
    this.#owned = ChunkedBytes.allocate(Math.max(expected, minBytes));
  }

  get length(): number {
    return this.#length;
  }

  get bytes(): Buffer<ArrayBuffer> {
    return this.#buffer.subarray(0, this.#length) as Buffer<ArrayBuffer>;
  }

  append(chunk: BorrowedBytes): void {
    const length = this.#length + chunk.length;
    if (length > this.#buffer.length) this.#grow(Math.max(length, this.#buffer.length * 2));
    this.#buffer.set(chunk, this.#length);
    this.#length = length;
  }

  release(): void {
    this.#owned.release();
  }

  [Symbol.dispose](): void {
    this.#owned[Symbol.dispose]();
  }

  get #buffer(): Buffer<ArrayBuffer> {
    return this.#owned.list[0] as Buffer<ArrayBuffer>;
  }

  #grow(size: number): void {
    const before = this.#owned;
    this.#owned = ChunkedBytes.allocate(size);
    before.list[0]?.copy(this.#buffer, 0, 0, this.#length);
    before.release();
  }
}

/**
 * Lends chunks as they arrive. Frees each when the next one is requested: left to the garbage collector, eight large
 * uploads would hold 150 MB. Consecutive chunks may be in one buffer, which is freed after the last of them: no other
 * bytes of it are in use.
 */
export async function* lendEach(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<BorrowedBytes> {
  let shared: ArrayBufferLike | undefined;
  for await (const chunk of chunks) {
    const { buffer } = chunk;
    if (shared && shared !== buffer) free(shared);
    shared = isWhole(chunk) ? undefined : buffer;
    yield chunk;
    if (!shared) free(buffer);
  }
  if (shared) free(shared);
}

const bufferOf = (bytes: Uint8Array): Buffer =>
  bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

const isWhole = ({ buffer, byteLength }: Uint8Array): boolean => buffer.byteLength === byteLength;

/** Smaller buffers may be parts of a pool that other buffers share. */
const pooledBytes = 16 * 1024;

/** Several chunks may be in one buffer: freeing it again has no effect. */
function free(buffer: ArrayBufferLike): void {
  if (buffer.byteLength >= pooledBytes && buffer instanceof ArrayBuffer) buffer.transfer(0);
}
