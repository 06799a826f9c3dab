/**
 * Finds the separators at which a large JSON object is cut into slices, while its bytes arrive. A list or an object
 * that is much longer than a slice is cut as well, at any depth up to a maximum.
 */

import type { BorrowedBytes } from "./borrowed-bytes.ts";
import { JsonScan } from "./json-scan.ts";

/** Lists and objects that are nested deeper are never cut. */
const maxCutDepth = 16;
/**
 * A list or an object within a field is cut if it is longer than this many slices, because the parts of it have to be
 * joined. Such a value, for example the vector of an input, is mostly shorter.
 */
const minNestedSlices = 4;

const comma = 0x2c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/**
 * A part of the text, from one separator to the next: a comma, a bracket or a brace.
 * - members: whole entries of the innermost list that is cut, or whole fields of the innermost object
 * - begin: the text before a list or an object that is cut, such as its name, up to its opening bracket
 * - end: the text after its closing bracket
 */
export interface Slice {
  readonly kind: "members" | "begin" | "end";
  readonly from: number;
  readonly to: number;
  /** For `begin`: whether a list begins. */
  readonly isList?: boolean;
}

export class JsonCuts extends JsonScan {
  /** Complete slices. */
  readonly ready: Slice[] = [];
  /** The braces of the object. -1: not found yet. */
  open = -1;
  close = -1;
  /** A bracket is closed by a brace, or the other way round, or a value follows another without a comma. */
  isMalformed = false;
  /** Bytes before the current chunk. */
  #before = 0;
  readonly #sliceBytes: number;
  /** By depth: the opening bracket of the current list or object, whether it is a list, and its last separator. */
  readonly #opens = new Float64Array(maxCutDepth + 2);
  readonly #isList = new Uint8Array(maxCutDepth + 2);
  readonly #separators = new Float64Array(maxCutDepth + 2);
  /** The lists and objects up to this depth are cut. */
  #cutDepth = 0;
  /** The end of the last slice. */
  #lastCut = 0;
  /** Commas after this offset may be cuts. */
  #examinedFrom = 0;
  /** The last cut is the end of a list or an object that was cut: no value may follow before the next separator. */
  #isAfterEnd = false;

  /** A slice is at most one entry or field longer than `sliceBytes`. */
  constructor(sliceBytes: number) {
    super();
    this.#sliceBytes = sliceBytes;
  }

  /** Bytes that were scanned. */
  get length(): number {
    return this.#before;
  }

  override take(bytes: BorrowedBytes): void {
    super.take(bytes);
    this.#before += bytes.length;
  }

  protected override count(byte: number, at: number): void {
    const { depth } = this;
    super.count(byte, at);
    if (depth > maxCutDepth || this.close >= 0) return;
    const offset = this.#before + at;
    if (byte === comma) {
      if (offset > this.#examinedFrom) this.#countComma(depth, offset);
      this.#separators[depth] = offset;
    } else if (this.depth > depth) this.#countOpening(byte, offset);
    else if (this.depth < depth && this.open >= 0) this.#countClosing(byte, depth, offset);
  }

  #countOpening(byte: number, offset: number): void {
    const { depth } = this;
    if (depth === 1) {
      if (byte !== openBrace || this.open >= 0) return;
      this.open = offset;
      this.#moveTo(offset);
      this.#cutDepth = 1;
    }
    if (this.open < 0) return;
    if (this.#isAfterEnd && depth === this.#cutDepth + 1) this.isMalformed = true;
    this.#opens[depth] = offset;
    this.#separators[depth] = offset;
    this.#isList[depth] = byte === openBracket ? 1 : 0;
  }

  #countComma(depth: number, offset: number): void {
    if (depth < this.#cutDepth || this.open < 0) return;
    if (depth === this.#cutDepth && this.#isAfterEnd) this.#cutAfterEnd(offset);
    else this.#cut(depth, offset);
  }

  #countClosing(byte: number, depth: number, offset: number): void {
    if (depth !== this.#cutDepth) return;
    this.isMalformed ||= byte !== (this.#isList[depth] ? closeBracket : closeBrace);
    if (this.#isAfterEnd) this.#cutAfterEnd(offset);
    else this.#cutMembers(depth, offset);
    this.#cutDepth = depth - 1;
    if (depth === 1) this.close = offset;
    else {
      this.#isAfterEnd = true;
      this.#examinedFrom = offset;
    }
  }

  /** `offset`: a comma at this depth. Cuts until less than a slice is left before the comma. */
  #cut(depth: number, offset: number): void {
    while (offset - this.#lastCut > this.#sliceBytes) {
      const cutDepth = this.#cutDepth;
      const separator = this.#separators[cutDepth] as number;
      if (cutDepth === depth) this.#cutMembers(depth, offset);
      else if (separator > this.#lastCut) this.#push("members", separator);
      else if (this.#isWorthCutting(cutDepth + 1, offset)) this.#beginCut(cutDepth + 1);
      else return;
    }
  }

  /** `offset`: the end of the list or object so far. */
  #isWorthCutting(depth: number, offset: number): boolean {
    const slices = depth === 2 ? 1 : minNestedSlices;
    return offset - (this.#opens[depth] as number) > slices * this.#sliceBytes;
  }

  /** `offset`: the end of members of the innermost list or object that is cut. */
  #cutMembers(depth: number, offset: number): void {
    const separator = this.#separators[depth] as number;
    const isLong = offset - separator > this.#sliceBytes;
    if (isLong && separator > this.#lastCut) this.#push("members", separator);
    this.#push("members", offset);
  }

  #beginCut(depth: number): void {
    const to = this.#opens[depth] as number;
    this.ready.push({
      kind: "begin",
      from: this.#lastCut,
      to,
      isList: this.#isList[depth] === 1,
    });
    this.#moveTo(to);
    this.#cutDepth = depth;
  }

  #cutAfterEnd(offset: number): void {
    this.#push("end", offset);
    this.#isAfterEnd = false;
  }

  #moveTo(lastCut: number): void {
    this.#lastCut = lastCut;
    this.#examinedFrom = lastCut + this.#sliceBytes;
  }

  #push(kind: "members" | "end", to: number): void {
    this.ready.push({ kind, from: this.#lastCut, to });
    this.#moveTo(to);
  }
}
