/** Bytes that came in several pieces, looked at as if they were one: to put them together would be to copy them all. */
import { freeBuffer } from "./spill-buffer.ts";

export class ChunkedBytes {
  readonly length: number;
  readonly #list: readonly Buffer[];
  /** Where each begins. */
  readonly #begins: readonly number[];
  /** The piece that was looked at last. The next look is mostly at the same. */
  #at = 0;

  constructor(pieces: readonly Buffer[]) {
    const chunks = pieces.length === 1 ? pieces : pieces.filter(({ length }) => length > 0);
    this.#list = chunks;
    const begins: number[] = [];
    let length = 0;
    for (const piece of chunks) {
      begins.push(length);
      length += piece.length;
    }
    this.#begins = begins;
    this.length = length;
  }

  static of(bytes: Uint8Array): ChunkedBytes {
    const { buffer, byteOffset, byteLength } = bytes;
    return new ChunkedBytes([Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength)]);
  }

  get list(): readonly Buffer[] {
    return this.#list;
  }

  /** As one, which is a copy where there are several. */
  toBuffer(): Buffer {
    return this.#list.length === 1 ? (this.#list[0] as Buffer) : Buffer.concat(this.#list);
  }

  /** Undefined beyond the end. */
  byteAt(place: number): number | undefined {
    const piece = this.#find(place);
    return this.#list[piece]?.[place - (this.#begins[piece] as number)];
  }

  /** -1 where it is not. */
  indexOf(sought: number | Buffer, from: number): number {
    for (let piece = this.#find(from); piece < this.#list.length; piece++) {
      const begin = this.#begins[piece] as number;
      const bytes = this.#list[piece] as Buffer;
      const found = bytes.indexOf(sought, Math.max(0, from - begin));
      if (found >= 0) {
        this.#at = piece;
        return begin + found;
      }
      if (typeof sought === "number") continue;
      const across = this.#indexAcross(sought, Math.max(from, begin), begin + bytes.length);
      if (across >= 0) return across;
    }
    return -1;
  }

  text(from: number, to = this.length): string {
    return this.view(from, to).toString("latin1");
  }

  /** A copy only where it lies in several pieces. Throws where some of it is gone: a part would be worse than nothing. */
  view(from: number, to: number): Buffer {
    const piece = this.#find(from);
    const begin = this.#begins[piece] as number;
    const bytes = this.#list[piece];
    if (bytes && to - begin <= bytes.length) return bytes.subarray(from - begin, to - begin);
    const copy = Buffer.allocUnsafe(to - from);
    this.copy(copy, 0, from, to);
    return copy;
  }

  /** Throws as above. */
  copy(into: Buffer, at: number, from: number, to: number): void {
    let copied = 0;
    for (let piece = this.#find(from); from + copied < to; piece++) {
      const begin = this.#begins[piece] as number;
      const some = this.#list[piece]?.copy(into, at + copied, from + copied - begin, to - begin);
      if (!some) throw new Error("The bytes that were to be copied are gone.");
      copied += some;
    }
  }

  #find(place: number): number {
    const begins = this.#begins;
    let at = this.#at;
    while (at > 0 && place < (begins[at] as number)) at--;
    while (at + 1 < begins.length && place >= (begins[at + 1] as number)) at++;
    this.#at = at;
    return at;
  }

  /** Begins before `border`, and ends behind it. */
  #indexAcross(sought: Buffer, from: number, border: number): number {
    const first = Math.max(from, border - sought.length + 1);
    const last = Math.min(border + sought.length - 1, this.length);
    if (last - first < sought.length) return -1;
    const found = this.view(first, last).indexOf(sought);
    return found < 0 ? -1 : first + found;
  }
}

/** Of one that is all there is in its memory: others may have the rest. */
export function releaseUnshared({ buffer, length }: Uint8Array): void {
  if (buffer.byteLength === length) freeBuffer(buffer);
}
