/**
 * Parses large JSON of an upstream in steps, with turns of the event loop for other requests in between. Almost all of
 * a large embeddings response is lists of numbers: they are cut out of the document and parsed one by one, and only the
 * rest is parsed at once.
 */
import { isUtf8 } from "node:buffer";
import type { BorrowedBytes } from "../lib/borrowed-bytes.ts";
import { JsonPlaceholders } from "../lib/json-placeholders.ts";
import { JsonScan } from "../lib/json-scan.ts";
import { runInSteps } from "../lib/tasks.ts";
import { invalidResponse } from "./invalid-response.ts";
import { checkStructure, maxContainers } from "./upstream-json.ts";

/** JSON of more bytes is parsed in steps. JSON.parse takes about 10 ms for this size. */
export const largeJsonBytes = 1024 * 1024;

/** Bytes that are scanned, or parsed, in one step: at most 2 ms. */
const stepBytes = 256 * 1024;
/** Shorter lists stay in the document. */
const minListBytes = 256;

/**
 * The most numbers of a list. A list at depth 2 is a field of the document, or an entry of it. A deeper list may hold
 * the numbers of all vectors, as Triton sends them. A longer list becomes null: no adapter reads it.
 */
const maxNumbers = (depth: number): number => (depth === 2 ? maxContainers : 16_777_216);

const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;
const colon = 0x3a;

/**
 * As JSON.parse. Throws if the document has more structure than a response with vectors needs, or more than
 * `maxOtherBytes` besides its lists of numbers.
 */
export function parseLargeJson(
  document: Buffer,
  maxOtherBytes = Number.POSITIVE_INFINITY,
): Promise<unknown> {
  return runInSteps(parseSteps(document, maxOtherBytes));
}

function* parseSteps(document: Buffer, maxOtherBytes: number): Generator<void, unknown> {
  const scan = new NumberLists();
  for (let start = 0; start < document.length; start += stepBytes) {
    scan.take(document.subarray(start, start + stepBytes));
    checkStructure(scan);
    yield;
  }
  const placeholders = new JsonPlaceholders();
  const others: Buffer[] = [];
  let from = 0;
  let sinceStep = 0;
  for (const list of scan.lists) {
    const numbers = list.isTooLong ? null : yield* parseNumbers(document, list);
    others.push(document.subarray(from, list.from), Buffer.from(`"${placeholders.add(numbers)}"`));
    from = list.to;
    sinceStep += list.to - list.from;
    if (sinceStep < stepBytes) continue;
    sinceStep = 0;
    yield;
  }
  others.push(document.subarray(from));
  const json = Buffer.concat(others);
  if (json.length > maxOtherBytes) {
    throw invalidResponse(`it has more than ${maxOtherBytes} bytes besides its vectors`);
  }
  if (!isUtf8(json)) throw invalidResponse("it is not valid UTF-8");
  yield;
  return placeholders.restore(JSON.parse(json.toString()));
}

interface NumberList {
  /** The offsets of the opening bracket, and after the closing bracket. */
  readonly from: number;
  readonly to: number;
  readonly isTooLong: boolean;
}

/** Finds lists without strings, lists or objects in them. */
class NumberLists extends JsonScan {
  readonly lists: NumberList[] = [];
  /** Bytes before the current chunk. */
  #before = 0;
  /** The last opening bracket, and the counts there. -1: another list or object began or ended since. */
  #open = -1;
  #stringsBefore = 0;
  #entriesBefore = 0;

  override take(bytes: BorrowedBytes): void {
    super.take(bytes);
    this.#before += bytes.length;
  }

  protected override count(byte: number, at: number): void {
    const { depth } = this;
    super.count(byte, at);
    if (byte === comma || byte === colon) return;
    const offset = this.#before + at;
    if (byte === closeBracket) this.#close(offset + 1, depth);
    this.#open = byte === openBracket ? offset : -1;
    this.#stringsBefore = this.strings;
    this.#entriesBefore = this.entries;
  }

  #close(to: number, depth: number): void {
    const from = this.#open;
    if (from < 0 || to - from < minListBytes || this.strings > this.#stringsBefore) return;
    const isTooLong = this.entries - this.#entriesBefore >= maxNumbers(depth);
    this.lists.push({ from, to, isTooLong });
  }
}

function* parseNumbers(
  document: Buffer,
  { from, to }: NumberList,
): Generator<void, readonly unknown[]> {
  if (to - from <= stepBytes) return JSON.parse(document.toString("latin1", from, to)) as unknown[];
  const numbers: unknown[] = [];
  const end = to - 1;
  for (let at = from + 1; at < end; ) {
    const found = document.indexOf(comma, at + stepBytes);
    const next = found < 0 || found > end ? end : found;
    const some = JSON.parse(`[${document.toString("latin1", at, next)}]`) as unknown[];
    if (some.length === 0) throw new SyntaxError("an entry is missing after a comma");
    for (let index = 0; index < some.length; index++) numbers.push(some[index]);
    at = next + 1;
    if (next < end && at === end) throw new SyntaxError("an entry is missing after a comma");
    yield;
  }
  return numbers;
}
