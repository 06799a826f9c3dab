/**
 * Incremental parsing of a large JSON body while its bytes arrive, in slices: other work can run between two slices,
 * and the text is never in memory as a whole, which would take twice the size of the bytes if one of its characters is
 * not Latin-1. A slice is a run of entries of a list or of fields of an object, such as the entries of `input`. The
 * result is the same as that of JSON.parse.
 */

import { isUtf8 } from "node:buffer";
import type { BorrowedBytes } from "./borrowed-bytes.ts";
import { OwnedChunks } from "./chunked-bytes.ts";
import { GarbageHint } from "./garbage-hint.ts";
import { JsonCuts, type Slice } from "./json-cuts.ts";

/** Parsing a slice of this size takes at most 2 ms. */
const defaultSliceBytes = 64 * 1024;

/** Memory of an array for each entry. */
const bytesPerEntry = 8;

const quote = 0x22;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** The bytes are not valid UTF-8. */
export class InvalidUtf8 extends Error {
  override readonly name = "InvalidUtf8";
}

type Fields = Readonly<Record<string, unknown>>;

interface SliceOptions {
  /** Called before a slice is parsed. May throw. */
  readonly check?: (slice: Buffer) => void;
  /** A slice is at most one entry or field longer. A longer entry or field is a slice by itself, or is cut. */
  readonly sliceBytes?: number;
  /**
   * The maximum entries of a list at this depth; the object itself is at depth 1. A longer list becomes null if it is
   * cut, and takes no memory.
   */
  readonly maxListLength?: (depth: number) => number;
}

/** A list or an object that is cut. */
interface Cut {
  /** The name of its field in the surrounding object. Empty in a list. */
  readonly name: string;
  readonly value: SlicedList | SlicedObject;
}

export class JsonSlices extends JsonCuts implements Disposable {
  readonly #check: (slice: Buffer) => void;
  readonly #bytes: GrowingBytes;
  readonly #sliceBytes: number;
  readonly #maxListLength: (depth: number) => number;
  /** Bytes that were parsed and dropped. */
  #dropped = 0;
  /** While slices are parsed: the lists and objects that are cut, the innermost last. */
  readonly #cuts: Cut[] = [];
  readonly #object = new SlicedObject();
  readonly #garbage = new GarbageHint();

  /** `expectedBytes`: the size of the text if it is known, or the initial size of the buffer. */
  constructor(expectedBytes: number, options: SliceOptions = {}) {
    const { sliceBytes = defaultSliceBytes } = options;
    super(sliceBytes);
    this.#bytes = new GrowingBytes(expectedBytes);
    this.#check = options.check ?? (() => undefined);
    this.#sliceBytes = sliceBytes;
    this.#maxListLength = options.maxListLength ?? (() => Number.POSITIVE_INFINITY);
  }

  /** Bytes of complete slices. */
  get readyBytes(): number {
    return (this.ready.at(-1)?.to ?? this.#dropped) - this.#dropped;
  }

  override take(bytes: BorrowedBytes): void {
    super.take(bytes);
    this.#bytes.append(bytes);
  }

  /** All bytes, if none was dropped. */
  get whole(): Buffer<ArrayBuffer> {
    return this.#bytes.filled;
  }

  /** The parser copies every string, so the bytes can be freed. */
  [Symbol.dispose](): void {
    this.#bytes[Symbol.dispose]();
  }

  /** Parses complete slices, and drops their bytes. Throws SyntaxError or InvalidUtf8. */
  *parseReady(): Generator<void, void> {
    let parsed = 0;
    for (const slice of this.ready) {
      yield* this.#parse(slice);
      parsed = slice.to;
      yield;
    }
    this.ready.length = 0;
    if (parsed === 0) return;
    // The last separator becomes the first of the next slice.
    this.#bytes.drop(parsed - this.#dropped);
    this.#dropped = parsed;
  }

  /** Parses the rest. Returns undefined if the text is not an object. Throws SyntaxError or InvalidUtf8. */
  *end(): Generator<void, Fields | undefined> {
    if (this.open < 0) return undefined;
    if (this.close < 0) throw new SyntaxError("the object has no end");
    yield* this.parseReady();
    JSON.parse(`{}${this.#text(this.close + 1, this.length)}`);
    return this.#object.join();
  }

  *#parse(slice: Slice): Generator<void, void> {
    const { kind, from, to } = slice;
    if (this.isMalformed) throw new SyntaxError("a bracket does not match, or a comma is missing");
    if (from === this.open) this.#checkBeginning();
    const container = this.#cuts.at(-1)?.value ?? this.#object;
    if (kind === "begin") this.#beginCut(container, slice);
    else if (kind === "end") yield* this.#endCut(slice);
    else if (container instanceof SlicedList) container.add(this.#parseEntries(from, to));
    else this.#parseFields(container, from, to);
  }

  /** The text before the list or object is parsed with an empty list in its place. */
  #beginCut(container: Cut["value"], { from, to, isList }: Slice): void {
    const text = this.#text(from + 1, to);
    const isInList = container instanceof SlicedList;
    const name = isInList ? "" : firstName(JSON.parse(`{${text}[]}`));
    if (isInList) JSON.parse(`[${text}[]]`);
    // The object itself is at depth 1.
    const depth = this.#cuts.length + 2;
    const value = isList ? new SlicedList(this.#maxListLength(depth)) : new SlicedObject();
    this.#cuts.push({ name, value });
  }

  *#endCut({ from, to }: Slice): Generator<void, void> {
    JSON.parse(`[]${this.#text(from + 1, to)}`);
    const { name, value } = this.#cuts.pop() as Cut;
    const around = this.#cuts.at(-1)?.value ?? this.#object;
    const joined = value instanceof SlicedList ? yield* value.join() : value.join();
    if (around instanceof SlicedList) around.add([joined]);
    else around.set(name, joined);
  }

  /** Before the object there may be a byte order mark, and spaces. */
  #checkBeginning(): void {
    JSON.parse(`${this.#text(0, this.open).replace(/^\ufeff/, "")}{}`);
  }

  #parseFields(object: SlicedObject, from: number, to: number): void {
    const fields = JSON.parse(this.#slice(from, to, openBrace, closeBrace).toString()) as Fields;
    const isWhole = from === this.open && to === this.close;
    if (!isWhole) firstName(fields);
    for (const [name, value] of Object.entries(fields)) object.set(name, value);
  }

  #parseEntries(from: number, to: number): unknown[] {
    const slice = this.#slice(from, to, openBracket, closeBracket);
    const entries = this.#plainText(slice) ?? (JSON.parse(slice.toString()) as unknown[]);
    if (entries.length === 0) throw new SyntaxError("an entry is missing after a comma");
    // Both are garbage later: the parser's copies while its array grew, and this array once it is joined with the
    // others.
    this.#garbage.add(2 * entries.length * bytesPerEntry);
    return entries;
  }

  /** A list of one long string without escape sequences: JSON.parse would need another copy of its text. */
  #plainText(slice: Buffer): string[] | undefined {
    const { length } = slice;
    if (length < this.#sliceBytes || slice[1] !== quote || slice[length - 2] !== quote) return;
    if (slice.indexOf(quote, 2) !== length - 2 || slice.includes(backslash)) return;
    const text = slice.toString("utf8", 2, length - 2);
    return hasControlCharacter.test(text) ? undefined : [text];
  }

  /** The bytes between two separators, with brackets or braces instead of the separators: no copy is needed. */
  #slice(from: number, to: number, open: number, close: number): Buffer {
    const slice = this.#bytes.filled.subarray(from - this.#dropped, to + 1 - this.#dropped);
    slice[0] = open;
    slice[slice.length - 1] = close;
    if (!isUtf8(slice)) throw new InvalidUtf8();
    this.#check(slice);
    // A text with a character that is not Latin-1 takes two bytes per character.
    this.#garbage.add(2 * slice.length);
    return slice;
  }

  #text(from: number, to: number): string {
    const slice = this.#bytes.filled.subarray(from - this.#dropped, to - this.#dropped);
    if (!isUtf8(slice)) throw new InvalidUtf8();
    return slice.toString();
  }
}

/** The name of the first field. Throws if there is none. */
function firstName(fields: Fields): string {
  const [name] = Object.keys(fields);
  if (name === undefined) throw new SyntaxError("a field is missing after a comma");
  return name;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON does not allow them in strings.
const hasControlCharacter = /[\0-\x1f]/;

/** The initial size of a buffer is at least this. */
const minBytes = 16 * 1024;
/** A buffer is replaced by a smaller one if it is larger than this, and mostly unused. */
const keptBytes = 1024 * 1024;

/** One buffer for all chunks of a body: separate chunks would take the same memory again when joined. */
class GrowingBytes implements Disposable {
  #owned: OwnedChunks;
  #length = 0;

  /** `expected`: the expected length; the system assigns the memory as bytes are written. */
  constructor(expected: number) {
    this.#owned = OwnedChunks.allocate(Math.max(expected, minBytes));
  }

  get filled(): Buffer<ArrayBuffer> {
    return this.#buffer.subarray(0, this.#length) as Buffer<ArrayBuffer>;
  }

  append(chunk: BorrowedBytes): void {
    const length = this.#length + chunk.length;
    if (length > this.#buffer.length) this.#move(0, Math.max(length, this.#buffer.length * 2));
    this.#buffer.set(chunk, this.#length);
    this.#length = length;
  }

  /** Removes the first bytes. */
  drop(count: number): void {
    const left = this.#length - count;
    if (this.#buffer.length > keptBytes && left < keptBytes / 2) this.#move(count, keptBytes);
    else this.#buffer.copyWithin(0, count, this.#length);
    this.#length = left;
  }

  [Symbol.dispose](): void {
    this.#owned[Symbol.dispose]();
  }

  get #buffer(): Buffer<ArrayBuffer> {
    return this.#owned.list[0] as Buffer<ArrayBuffer>;
  }

  #move(from: number, size: number): void {
    const before = this.#owned;
    this.#owned = OwnedChunks.allocate(size);
    before.list[0]?.copy(this.#buffer, 0, from, this.#length);
    before.release();
  }
}

/** Entries that are copied in one step. */
const entriesPerStep = 65_536;

class SlicedList {
  readonly #maxLength: number;
  /** The entries, slice by slice. Empty once the list is too long. */
  #parts: (readonly unknown[])[] = [];
  #length = 0;

  /** A list longer than `maxLength` is discarded, and `join` returns null. */
  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  add(entries: readonly unknown[]): void {
    this.#length += entries.length;
    if (this.#length > this.#maxLength) this.#parts = [];
    else this.#parts.push(entries);
  }

  /** The whole list, joined in steps. */
  *join(): Generator<void, unknown[] | null> {
    if (this.#length > this.#maxLength) return null;
    const list = new Array<unknown>(this.#length);
    let count = 0;
    let nextStep = entriesPerStep;
    for (const part of this.#parts) {
      // Ten times as fast as `concat`.
      for (let at = 0; at < part.length; at++) list[count++] = part[at];
      if (count < nextStep) continue;
      nextStep = count + entriesPerStep;
      yield;
    }
    return list;
  }
}

class SlicedObject {
  readonly #fields: [string, unknown][] = [];

  set(name: string, value: unknown): void {
    this.#fields.push([name, value]);
  }

  join(): Readonly<Record<string, unknown>> {
    // Not by assignment: a field may be called `__proto__`.
    return Object.fromEntries(this.#fields);
  }
}
