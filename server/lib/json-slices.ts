/**
 * Parses a large JSON object while its bytes arrive, in slices: other work can run between two slices, and the text is
 * never in memory as a whole, which would take twice the size of the bytes if one of its characters is not Latin. A
 * slice is a field of the object, or entries of a list that is the value of a field, such as `input`. The result is the
 * same as that of JSON.parse.
 */
import { isUtf8 } from "node:buffer";
import { GarbageHint } from "./garbage-hint.ts";
import { GrowingBytes } from "./growing-bytes.ts";
import { JsonScan } from "./json-scan.ts";
import { SlicedList } from "./sliced-list.ts";

/** Parsing a slice of this size takes at most 2 ms. */
const defaultSliceBytes = 64 * 1024;

/** In an array. */
const bytesPerEntry = 8;

const quote = 0x22;
const comma = 0x2c;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** The bytes are not valid UTF-8. */
export class InvalidUtf8 extends Error {
  override readonly name = "InvalidUtf8";
}

/**
 * A part of the text, from one separator to the next: a comma, a bracket or a brace.
 * - field: a whole field
 * - list: the name of a field whose list is cut, up to the opening bracket
 * - entries: entries of that list
 * - end: what follows its closing bracket
 */
interface Slice {
  readonly kind: "field" | "list" | "entries" | "end";
  readonly from: number;
  readonly to: number;
}

type Fields = Readonly<Record<string, unknown>>;

export interface SliceOptions {
  /** Called before a slice is parsed. May throw. */
  readonly check?: (slice: Buffer) => void;
  /** Slices of a list are longer, but for one entry; a longer entry is a slice by itself. */
  readonly sliceBytes?: number;
  /** A field whose list is cut into slices and has more entries than this is null, and takes no memory. */
  readonly maxListLength?: number;
}

export class JsonSlices extends JsonScan {
  readonly #check: (slice: Buffer) => void;
  readonly #bytes: GrowingBytes;
  readonly #sliceBytes: number;
  /** Bytes that were parsed and dropped. */
  #dropped = 0;
  /** Bytes before the current chunk. */
  #before = 0;
  /** Complete slices that are not parsed yet. */
  readonly #ready: Slice[] = [];
  /** The braces of the object. */
  #open = -1;
  #close = -1;
  /** The separator before the current field. */
  #field = -1;
  /** The brackets of the field's list. -1: none. */
  #listOpen = -1;
  #listClose = -1;
  #isCut = false;
  /** A bracket is closed by a brace, or the other way round. */
  #isMismatched = false;
  #lastCut = 0;
  #lastComma = 0;
  readonly #entries: [string, unknown][] = [];
  readonly #maxListLength: number;
  /** The current list, if it is cut. */
  #list: SlicedList;
  #listName = "";
  readonly #garbage = new GarbageHint();

  /** `expectedBytes`: the size of the text, or of the memory to begin with. */
  constructor(expectedBytes: number, options: SliceOptions = {}) {
    super();
    this.#bytes = new GrowingBytes(expectedBytes);
    this.#check = options.check ?? (() => undefined);
    this.#sliceBytes = options.sliceBytes ?? defaultSliceBytes;
    this.#maxListLength = options.maxListLength ?? Number.POSITIVE_INFINITY;
    this.#list = new SlicedList(this.#maxListLength);
  }

  /** Bytes that were scanned. */
  get length(): number {
    return this.#before;
  }

  /** Bytes of complete slices. */
  get readyBytes(): number {
    return (this.#ready.at(-1)?.to ?? this.#dropped) - this.#dropped;
  }

  /** `bytes` are copied. */
  override take(bytes: Uint8Array): void {
    super.take(bytes);
    this.#bytes.append(bytes);
    this.#before += bytes.length;
  }

  /** All bytes, if none was dropped. */
  get whole(): Buffer<ArrayBuffer> {
    return this.#bytes.filled;
  }

  free(): void {
    this.#bytes.free();
  }

  /** Parses complete slices, and drops their bytes. Throws SyntaxError or InvalidUtf8. */
  *parseReady(): Generator<void, void> {
    let parsed = 0;
    for (const slice of this.#ready) {
      this.#parse(slice);
      parsed = slice.to;
      yield;
    }
    this.#ready.length = 0;
    if (parsed === 0) return;
    // The last separator becomes the first of the next slice.
    this.#bytes.drop(parsed - this.#dropped);
    this.#dropped = parsed;
  }

  /** Parses the rest. Returns undefined where the text is no object; throws SyntaxError or InvalidUtf8. */
  *end(): Generator<void, Fields | undefined> {
    if (this.#open < 0) return undefined;
    if (this.#close < 0) throw new SyntaxError("the object has no end");
    yield* this.parseReady();
    JSON.parse(`{}${this.#text(this.#close + 1, this.#before)}`);
    // Not by assignment: a field may be called `__proto__`.
    return Object.fromEntries(this.#entries);
  }

  protected override count(byte: number, at: number): void {
    const { depth } = this;
    super.count(byte, at);
    if (depth > 2 || this.#close >= 0) return;
    const offset = this.#before + at;
    if (depth === 2) this.#countInField(byte, offset);
    else if (depth === 1 && this.#open >= 0) this.#countInObject(byte, offset);
    else if (depth === 0 && byte === openBrace) {
      this.#open = offset;
      this.#field = offset;
    }
  }

  #countInObject(byte: number, offset: number): void {
    if (byte === openBracket && this.#listOpen < 0) {
      this.#listOpen = offset;
      this.#lastCut = offset;
      this.#lastComma = offset;
    } else if (byte === comma) this.#endField(offset);
    else if (this.depth === 0) {
      this.#isMismatched ||= byte !== closeBrace;
      this.#endField(offset);
      this.#close = offset;
    }
  }

  #countInField(byte: number, offset: number): void {
    if (this.#listOpen < 0 || this.#listClose >= 0) return;
    if (byte === comma) {
      this.#cutBeforeLongEntry(offset);
      if (offset - this.#lastCut > this.#sliceBytes) this.#cut(offset);
      this.#lastComma = offset;
    } else if (this.depth === 1) {
      this.#isMismatched ||= byte !== closeBracket;
      this.#cutBeforeLongEntry(offset);
      if (this.#isCut) this.#cut(offset);
      this.#listClose = offset;
    }
  }

  /** `offset`: the end of an entry. */
  #cutBeforeLongEntry(offset: number): void {
    const isLong = offset - this.#lastComma > this.#sliceBytes;
    if (isLong && this.#lastComma > this.#lastCut) this.#cut(this.#lastComma);
  }

  /** Cuts the list of the current field. */
  #cut(offset: number): void {
    if (!this.#isCut) this.#ready.push({ kind: "list", from: this.#field, to: this.#listOpen });
    this.#isCut = true;
    this.#ready.push({ kind: "entries", from: this.#lastCut, to: offset });
    this.#lastCut = offset;
  }

  #endField(offset: number): void {
    this.#ready.push(
      this.#isCut
        ? { kind: "end", from: this.#listClose, to: offset }
        : { kind: "field", from: this.#field, to: offset },
    );
    this.#field = offset;
    this.#listOpen = -1;
    this.#listClose = -1;
    this.#isCut = false;
  }

  #parse({ kind, from, to }: Slice): void {
    if (this.#isMismatched) throw new SyntaxError("a bracket is closed by a brace");
    if (from === this.#open) this.#checkBeginning();
    switch (kind) {
      case "field":
        this.#parseField(from, to);
        return;
      case "list":
        // Without its entries, the list is empty.
        this.#listName = onlyName(JSON.parse(`{${this.#text(from + 1, to)}[]}`));
        this.#list = new SlicedList(this.#maxListLength);
        return;
      case "entries":
        this.#list.add(this.#parseEntries(from, to));
        return;
      case "end":
        JSON.parse(`[]${this.#text(from + 1, to)}`);
        this.#entries.push([this.#listName, this.#list.join()]);
    }
  }

  /** Before the object there may be a byte order mark, and spaces. */
  #checkBeginning(): void {
    JSON.parse(`${this.#text(0, this.#open).replace(/^\ufeff/, "")}{}`);
  }

  #parseField(from: number, to: number): void {
    const field = JSON.parse(this.#slice(from, to, openBrace, closeBrace).toString()) as Fields;
    const isWholeObject = from === this.#open && to === this.#close;
    if (isWholeObject && Object.keys(field).length === 0) return;
    const name = onlyName(field);
    this.#entries.push([name, field[name]]);
  }

  #parseEntries(from: number, to: number): unknown[] {
    const slice = this.#slice(from, to, openBracket, closeBracket);
    const entries = this.#plainText(slice) ?? (JSON.parse(slice.toString()) as unknown[]);
    if (entries.length === 0) throw new SyntaxError("an entry is missing after a comma");
    // The entries are copied to one list at its end, and the parser copied them while its array grew.
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
    this.#garbage.add(slice.length);
    return slice;
  }

  #text(from: number, to: number): string {
    const slice = this.#bytes.filled.subarray(from - this.#dropped, to - this.#dropped);
    if (!isUtf8(slice)) throw new InvalidUtf8();
    return slice.toString();
  }
}

function onlyName(field: Fields): string {
  const [name] = Object.keys(field);
  if (name === undefined) throw new SyntaxError("a field is missing after a comma");
  return name;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON does not allow them in strings.
const hasControlCharacter = /[\0-\x1f]/;
