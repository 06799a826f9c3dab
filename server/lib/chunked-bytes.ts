/**
 * Chunked bytes: several buffers read as if they were one, without the copy that joining them would take. The owner
 * of the bytes may release their memory: views are valid until then, and reading the bytes later throws.
 */
import { type BorrowedBytes, OwnedChunks } from "./owned-bytes.ts";

export class ChunkedBytes {
  readonly length: number;
  readonly #chunks: OwnedChunks<Buffer>;
  /** The offset of each chunk. */
  readonly #offsets: readonly number[];
  /** The chunk that was read last. The next read is mostly in the same chunk. */
  #at = 0;

  /** `isExclusive`: see `OwnedChunks`. */
  constructor(all: readonly Buffer[], isExclusive = false) {
    const chunks = all.length === 1 ? all : all.filter(({ length }) => length > 0);
    this.#chunks = new OwnedChunks(chunks, isExclusive);
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
    return new ChunkedBytes(chunks, true);
  }

  get list(): readonly Buffer[] {
    return this.#chunks.list;
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

  /** Frees the memory now. To be called by the owner, at most once. */
  release(): void {
    this.#chunks.release();
  }

  /** The chunks in order. The memory of each is freed when the next one is requested, and all of it at the end. */
  drain(): AsyncGenerator<BorrowedBytes> {
    return this.#chunks.drain();
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
