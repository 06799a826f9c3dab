/**
 * Scans JSON as bytes, before it is parsed: counts its structure, and passes over strings. `JSON.parse` takes 10 to
 * 100 ns for each value, field and escape sequence, and twenty times that for deep nesting, whatever the size of the
 * document; the scan takes about a nanosecond a byte. It does not validate: bytes that are not JSON are counted as if
 * they were JSON, and the parser refuses them. The chunks may be cut anywhere.
 */
import type { BorrowedBytes } from "./borrowed-bytes.ts";

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;

/** Bytes that are counted; all others are passed over. */
const counted = new Uint8Array(256);
for (const character of '"[]{},:') counted[character.charCodeAt(0)] = 1;

/** Within a string, the native search is used after this many plain bytes in a row: a shorter search costs more. */
const minPlainBytes = 24;

export class JsonScan {
  depth = 0;
  maxDepth = 0;
  /** Commas: entries of arrays and fields of objects together. */
  entries = 0;
  /** Arrays and objects. */
  containers = 0;
  fields = 0;
  /** Strings, the names of fields included. */
  strings = 0;
  /** Backslashes in strings. */
  escapes = 0;
  /** Bytes outside of strings. */
  plainBytes = 0;
  /** `takeToList` has stopped after an opening bracket. */
  isAtList = false;
  /** All bytes that were taken last are within one string, and none of them belongs to an escape. */
  isWithinString = false;
  #inString = false;
  /** The last byte so far was a backslash that escapes the next one. */
  #escaped = false;
  // The offset of the next quote and backslash in the current bytes; the bytes after it have not been searched yet.
  // Kept from one string to the next, so that the search never reads the same bytes twice.
  #nextQuote = -1;
  #nextBackslash = -1;

  /** The next bytes of the document. */
  take(bytes: BorrowedBytes): void {
    this.#pass(bytes, false);
  }

  /** The next bytes of the document, up to the first `[` outside of strings. Returns their number. */
  takeToList(bytes: BorrowedBytes): number {
    return this.#pass(bytes, true);
  }

  #pass(bytes: BorrowedBytes, toList: boolean): number {
    let at = 0;
    const { strings, escapes } = this;
    const wasInString = this.#inString && !this.#escaped;
    this.#nextQuote = -1;
    this.#nextBackslash = -1;
    this.isAtList = false;
    while (at < bytes.length && !this.isAtList) {
      at = this.#inString ? this.#passString(bytes, at) : this.#passStructure(bytes, at, toList);
    }
    const hasMarks = this.strings !== strings || this.escapes !== escapes;
    this.isWithinString = wasInString && this.#inString && !hasMarks;
    return at;
  }

  /** `byte`: one of `[]{},:` outside of strings. */
  protected count(byte: number, _at: number): void {
    if (byte === comma) this.entries++;
    else if (byte === colon) this.fields++;
    else if (isOpening(byte)) {
      this.containers++;
      if (++this.depth > this.maxDepth) this.maxDepth = this.depth;
    } else this.depth--;
  }

  /** Scans from an offset outside of strings. Returns the offset after the next opening quote, or bracket of a list. */
  #passStructure(bytes: BorrowedBytes, from: number, toList: boolean): number {
    for (let at = from; at < bytes.length; at++) {
      const byte = bytes[at] as number;
      if (counted[byte] === 0) continue;
      if (byte === quote) {
        this.#inString = true;
        this.strings++;
        this.plainBytes += at - from;
        return at + 1;
      }
      this.count(byte, at);
      if (toList && byte === openBracket) {
        this.isAtList = true;
        this.plainBytes += at + 1 - from;
        return at + 1;
      }
    }
    this.plainBytes += bytes.length - from;
    return bytes.length;
  }

  /** Scans from an offset within a string. Returns the offset after its closing quote. */
  #passString(bytes: BorrowedBytes, from: number): number {
    let at = from;
    let plain = 0;
    if (this.#escaped) {
      this.#escaped = false;
      at++;
    }
    while (at < bytes.length) {
      const byte = bytes[at] as number;
      if (byte === quote) {
        this.#inString = false;
        return at + 1;
      }
      if (byte === backslash) {
        this.escapes++;
        plain = 0;
        at += 2;
        continue;
      }
      at++;
      if (++plain < minPlainBytes) continue;
      if (this.#nextBackslash < at) this.#nextBackslash = indexOf(bytes, backslash, at);
      if (this.#nextQuote < at) this.#nextQuote = indexOf(bytes, quote, at);
      at = Math.min(this.#nextQuote, this.#nextBackslash);
      plain = 0;
    }
    this.#escaped = at > bytes.length;
    return bytes.length;
  }
}

/** `[` and `{` differ in one bit. */
const isOpening = (byte: number): boolean => (byte | 0x20) === 0x7b;

/** The index of the byte. The length of `bytes` if the byte is not found. */
function indexOf(bytes: BorrowedBytes, byte: number, from: number): number {
  const found = bytes.indexOf(byte, from);
  return found < 0 ? bytes.length : found;
}

/**
 * Whether a text could be nested deeper than `maxDepth`: a quick upper bound, which also counts brackets within
 * strings.
 */
export function mayExceedDepth(text: string, maxDepth: number): boolean {
  let brackets = 0;
  for (const character of ["[", "{"]) {
    for (let at = text.indexOf(character); at >= 0; at = text.indexOf(character, at + 1)) {
      if (++brackets > maxDepth) return true;
    }
  }
  return false;
}

export interface FilterBounds {
  readonly depth: number;
  /** Entries, arrays and objects within one member of the document. */
  readonly memberValues: number;
  /** Entries, arrays and objects within the whole document. */
  readonly values: number;
}

const nothing = new Uint8Array(0);
const nullText = Buffer.from("null");

/**
 * Filters JSON chunk by chunk: an array or object that is nested too deep becomes null, and a member of the document
 * that has too many values is truncated.
 */
export class JsonFilter extends JsonScan {
  readonly #bounds: FilterBounds;
  /** The closing bracket of each array and object that is open and kept, the outermost first. */
  readonly #closings: number[] = [];
  #kept: Uint8Array[] = [];
  #chunk: Uint8Array = nothing;
  /** The offset in the chunk of the bytes that are kept next. */
  #from = 0;
  /** The depth at which bytes are kept again; undefined while they are kept. */
  #resumeDepth: number | undefined;
  #memberValues = 0;
  #values = 0;

  constructor(bounds: FilterBounds) {
    super();
    this.#bounds = bounds;
  }

  /** The filtered document still has too many values. */
  get isTooLarge(): boolean {
    return this.#values > this.#bounds.values;
  }

  /** Returns the filtered chunk: the chunk itself if nothing is removed from it. */
  push(chunk: Uint8Array): Uint8Array {
    this.#chunk = chunk;
    this.#kept = [];
    this.#from = 0;
    const wasKeeping = this.#resumeDepth === undefined;
    this.take(chunk);
    const isKeeping = this.#resumeDepth === undefined;
    this.#chunk = nothing;
    if (wasKeeping && isKeeping && this.#kept.length === 0) return chunk;
    if (isKeeping) this.#kept.push(chunk.subarray(this.#from));
    return Buffer.concat(this.#kept);
  }

  protected override count(byte: number, at: number): void {
    if (this.#resumeDepth !== undefined) {
      this.#pass(byte, at, this.#resumeDepth);
      return;
    }
    super.count(byte, at);
    if (byte === comma) this.#countEntry(at);
    else if (isOpening(byte)) this.#open(byte, at);
    else if (byte !== colon) this.#closings.pop();
  }

  /** Skips removed bytes, which are not counted. */
  #pass(byte: number, at: number, resumeDepth: number): void {
    if (byte === comma || byte === colon) return;
    this.depth += isOpening(byte) ? 1 : -1;
    if (this.depth > resumeDepth) return;
    this.#resumeDepth = undefined;
    this.#from = at + 1;
  }

  #countEntry(at: number): void {
    this.#values++;
    if (this.depth <= 1) this.#memberValues = 0;
    else if (++this.#memberValues > this.#bounds.memberValues) {
      // A whole value precedes a comma: with the brackets closed, the text so far is JSON.
      this.#drop(at, Uint8Array.from(this.#closings.splice(1).toReversed()), 1);
    }
  }

  #open(byte: number, at: number): void {
    this.#values++;
    this.#memberValues++;
    if (this.depth > this.#bounds.depth) this.#drop(at, nullText, this.#bounds.depth);
    else this.#closings.push(byte + 2);
  }

  #drop(at: number, instead: Uint8Array, resumeDepth: number): void {
    this.#kept.push(this.#chunk.subarray(this.#from, at), instead);
    this.#resumeDepth = resumeDepth;
  }
}
