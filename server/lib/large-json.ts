/**
 * The size of JSON values, and the serialization of large JSON values to UTF-8 bytes, piece by piece. The text as one
 * string would take up to twice the size of its bytes, and twice the time.
 */

import type { BorrowedBytes } from "./borrowed-bytes.ts";
import { ChunkedBytes } from "./chunked-bytes.ts";

/** Values that are shorter are serialized at once. */
const largeLength = 256 * 1024;

/** The approximate characters of a token and its comma. */
const tokenLength = 6;

/** The most characters that are serialized at once. */
const pieceLength = 16 * 1024;

const chunkBytes = 256 * 1024;
const maxBytesPerCharacter = 3;

/** Whether the JSON text of the value is longer than `largeLength`, by an estimate that stops at this length. */
export const isLongJson = (value: unknown): boolean => lengthLeft(value, largeLength) < 0;

/**
 * `left` minus the estimated length of the value's JSON text. Negative: the text is longer than `left`, and the
 * estimate stopped there.
 */
function lengthLeft(value: unknown, left: number): number {
  if (typeof value === "string") return left - value.length - 3;
  if (typeof value !== "object" || value === null) return left - tokenLength;
  let rest = left - 3;
  if (!Array.isArray(value)) {
    for (const name in value) {
      rest = lengthLeft((value as Readonly<Record<string, unknown>>)[name], rest - name.length - 3);
      if (rest < 0) break;
    }
    return rest;
  }
  if (typeof value[0] === "number") return rest - tokenLength * value.length;
  for (let at = 0; at < value.length && rest >= 0; at++) rest = lengthLeft(value[at], rest);
  return rest;
}

/** A request body: the value is serialized once, when its bytes are first needed. */
export class LargeJson {
  readonly #value: unknown;
  #chunks: ChunkedBytes | undefined;

  constructor(value: unknown) {
    this.#value = value;
  }

  get length(): number {
    return this.#bytes.length;
  }

  /** The bytes of JSON.stringify(value). */
  chunks(): readonly Buffer[] {
    return this.#bytes.list;
  }

  get #bytes(): ChunkedBytes {
    if (!this.#chunks) {
      const writer = new Writer();
      writer.value(this.#value);
      this.#chunks = writer.end();
    }
    return this.#chunks;
  }

  async *open(): AsyncGenerator<BorrowedBytes> {
    yield* this.chunks();
  }

  text(): string {
    return JSON.stringify(this.#value);
  }

  /** Frees the bytes, which will not be sent again. */
  free(): void {
    this.#chunks?.release();
    this.#chunks = undefined;
  }
}

class Writer {
  readonly #chunks = ChunkedBytes.exclusive();
  #chunk = Buffer.allocUnsafeSlow(chunkBytes);
  #used = 0;

  end(): ChunkedBytes {
    this.#chunks.add(this.#chunk.subarray(0, this.#used));
    return this.#chunks;
  }

  value(value: unknown): void {
    if (typeof value === "string") this.#text(value);
    else if (Array.isArray(value)) this.#list(value);
    else if (typeof value === "object" && value !== null) this.#object(value);
    else this.#append(JSON.stringify(value) ?? "null");
  }

  #object(object: object): void {
    let separator = "{";
    for (const [name, value] of Object.entries(object)) {
      // As JSON.stringify does.
      if (value === undefined) continue;
      this.#append(`${separator}${JSON.stringify(name)}:`);
      this.value(value);
      separator = ",";
    }
    this.#append(separator === "{" ? "{}" : "}");
  }

  #list(list: readonly unknown[]): void {
    // Serialized whole: fast, and always ASCII. A list that is split would take as much memory again.
    if (isNumbers(list)) {
      this.#appendAscii(JSON.stringify(list));
      return;
    }
    this.#append("[");
    for (let at = 0; at < list.length; ) {
      if (at > 0) this.#append(",");
      const end = endOfPieceIn(list, at);
      if (end > at) {
        this.#append(JSON.stringify(list.slice(at, end)).slice(1, -1));
        at = end;
      } else {
        this.value(list[at]);
        at += 1;
      }
    }
    this.#append("]");
  }

  #text(text: string): void {
    if (text.length <= pieceLength) {
      this.#append(JSON.stringify(text));
      return;
    }
    this.#append('"');
    for (let from = 0; from < text.length; ) {
      const to = endOfPieceOf(text, from);
      this.#append(JSON.stringify(text.slice(from, to)).slice(1, -1));
      from = to;
    }
    this.#append('"');
  }

  #append(text: string): void {
    this.#write(text, maxBytesPerCharacter * text.length);
  }

  #appendAscii(text: string): void {
    this.#write(text, text.length);
  }

  #write(text: string, maxBytes: number): void {
    if (maxBytes > this.#chunk.length - this.#used) {
      this.#chunks.add(this.#chunk.subarray(0, this.#used));
      this.#chunk = Buffer.allocUnsafeSlow(Math.max(chunkBytes, maxBytes));
      this.#used = 0;
    }
    this.#used += this.#chunk.write(text, this.#used);
  }
}

const isNumbers = (list: readonly unknown[]): boolean => {
  for (let at = 0; at < list.length; at++) if (typeof list[at] !== "number") return false;
  return true;
};

/**
 * The end of the entries that are serialized at once. Equal to `from` if the entry at `from` is longer than
 * that.
 */
function endOfPieceIn(list: readonly unknown[], from: number): number {
  let left = pieceLength;
  let at = from;
  while (at < list.length) {
    left = lengthLeft(list[at], left);
    if (left < 0) break;
    at++;
  }
  return at;
}

/** Never between the two halves of a surrogate pair: JSON.stringify would escape each half. */
function endOfPieceOf(text: string, from: number): number {
  const to = Math.min(from + pieceLength, text.length);
  const last = text.charCodeAt(to - 1);
  return to < text.length && last >= 0xd800 && last < 0xdc00 ? to - 1 : to;
}

const maxValues = 1024;
const maxCharacters = 64 * 1024;

/**
 * Whether a JSON value is large: more values, or more characters, than code may sort, compare or copy while other
 * requests wait. The count stops at the bound, so the check takes microseconds for any value.
 */
export const isLargeJson = (value: unknown): boolean => new Count().isBeyond(value);

class Count {
  #values = 0;
  #characters = 0;

  /** Adds the value, and stops at the first bound that is passed. */
  isBeyond(value: unknown): boolean {
    this.#values += 1;
    if (typeof value === "string") this.#characters += value.length;
    if (this.#values > maxValues || this.#characters > maxCharacters) return true;
    if (typeof value !== "object" || value === null) return false;
    if (Array.isArray(value)) return value.some((entry) => this.isBeyond(entry));
    for (const name in value) {
      this.#characters += name.length;
      if (this.isBeyond((value as Readonly<Record<string, unknown>>)[name])) return true;
    }
    return false;
  }
}

/** Whether an object has no members. Reads at most the first member, and allocates no list of them. */
export function isEmptyObject(object: object): boolean {
  for (const _ in object) return false;
  return true;
}
