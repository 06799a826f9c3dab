/**
 * Chunked bytes: several buffers read as if they were one, without the copy that joining them would take. The bytes
 * have one owner, which may release their memory: left to the garbage collector, large bodies accumulate faster than
 * they are collected. Views are valid until the release; reading the bytes later throws.
 */
import { freeBuffer } from "./free-buffer.ts";

export class ChunkedBytes {
  readonly length: number;
  readonly #chunks: readonly Buffer[];
  /** The offset of each chunk. */
  readonly #offsets: readonly number[];
  /** The chunk that was read last. The next read is mostly in the same chunk. */
  #at = 0;
  #isReleased = false;
  /** The buffers hold no other bytes that are in use. */
  #isExclusive = false;

  constructor(all: readonly Buffer[]) {
    const chunks = all.length === 1 ? all : all.filter(({ length }) => length > 0);
    this.#chunks = chunks;
    const offsets: number[] = [];
    let length = 0;
    for (const chunk of chunks) {
      offsets.push(length);
      length += chunk.length;
    }
    this.#offsets = offsets;
    this.length = length;
  }

  static of(bytes: Uint8Array): ChunkedBytes {
    const { buffer, byteOffset, byteLength } = bytes;
    return new ChunkedBytes([Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength)]);
  }

  /** From buffers that hold no other bytes in use: releasing the bytes frees the whole buffers. */
  static exclusive(chunks: readonly Buffer[]): ChunkedBytes {
    const bytes = new ChunkedBytes(chunks);
    bytes.#isExclusive = true;
    return bytes;
  }

  get list(): readonly Buffer[] {
    return this.#chunks;
  }

  /** One buffer with all bytes. A copy if there are several chunks. */
  toBuffer(): Buffer {
    return this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks);
  }

  /** Undefined beyond the end. */
  byteAt(offset: number): number | undefined {
    const chunk = this.#find(offset);
    return this.#chunks[chunk]?.[offset - (this.#offsets[chunk] as number)];
  }

  /** The offset of the first match between `from` and `to`; -1 if there is none. */
  indexOf(needle: number | Buffer, from: number, to = this.length): number {
    for (let chunk = this.#find(from); chunk < this.#chunks.length; chunk++) {
      const begin = this.#offsets[chunk] as number;
      if (begin >= to) return -1;
      const whole = this.#chunks[chunk] as Buffer;
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
    this.#assertHeld();
    const chunk = this.#find(from);
    const begin = this.#offsets[chunk] as number;
    const bytes = this.#chunks[chunk];
    if (bytes && to - begin <= bytes.length) return bytes.subarray(from - begin, to - begin);
    const copy = Buffer.allocUnsafe(to - from);
    this.copy(copy, 0, from, to);
    return copy;
  }

  /** Copies a range into `into`. Throws if any of its bytes were released. */
  copy(into: Buffer, at: number, from: number, to: number): void {
    this.#assertHeld();
    let copied = 0;
    for (let chunk = this.#find(from); from + copied < to; chunk++) {
      const begin = this.#offsets[chunk] as number;
      const bytes = this.#chunks[chunk]?.copy(into, at + copied, from + copied - begin, to - begin);
      if (!bytes) throw released();
      copied += bytes;
    }
  }

  /** Frees the memory now. To be called by the owner, at most once. */
  release(): void {
    this.#assertHeld();
    this.#isReleased = true;
    for (const chunk of this.#chunks) this.#free(chunk);
  }

  /** The chunks in order. The memory of each is freed when the next one is requested, and all of it at the end. */
  async *drain(): AsyncGenerator<Buffer> {
    this.#assertHeld();
    try {
      for (const [at, chunk] of this.#chunks.entries()) {
        yield chunk;
        // The chunks of a chunked body may be in one buffer.
        if (this.#chunks[at + 1]?.buffer !== chunk.buffer) this.#free(chunk);
      }
    } finally {
      this.release();
    }
  }

  /** A buffer that may hold other bytes is left to the garbage collector. */
  #free({ buffer, length }: Buffer): void {
    if (this.#isExclusive || buffer.byteLength === length) freeBuffer(buffer);
  }

  #assertHeld(): void {
    if (this.#isReleased) throw released();
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

const released = (): Error => new Error("The bytes have been released.");
