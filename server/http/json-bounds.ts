/**
 * JSON bounds: limits on the structure of a JSON body, checked on its bytes as they arrive and before they are parsed.
 * `JSON.parse` takes 10 to 100 ns for each value, field and escape sequence, whatever its size, so a body of the
 * largest size that is allowed could take seconds of CPU time, and many times its size in memory; within these bounds,
 * a value that cannot be parsed in slices (`json-slices.ts`) takes at most 50 ms for each 10 MB.
 */

import { isAscii } from "node:buffer";
import type { BorrowedBytes } from "../lib/borrowed-bytes.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { JsonScan } from "../lib/json-scan.ts";
import { maxTextLength } from "../request/max-text-length.ts";

export const jsonBounds = {
  /** No request needs more levels, and serializing tens of thousands of levels would overflow the stack. */
  depth: 128,
  /** Commas: entries of arrays and fields of objects together. OpenAI takes 300,000 tokens in one request. */
  entries: 1_048_576,
  /** Arrays and objects; more than the inputs that one request may have (VEXEL_MAX_INPUTS). */
  containers: 131_072,
  /** Fields of all objects together. */
  fields: 4096,
  /**
   * Backslashes in strings. Parsing a short escape takes 17 ns; written as \uXXXX, this many escapes are 25 MB of
   * Chinese text.
   */
  escapes: 4_194_304,
  /** Bytes outside of strings: numbers, punctuation, spaces. Eight for each entry. */
  plainBytes: 8_388_608,
} as const;

/** Scans the next bytes of a body. Throws at the first bound that the body exceeds. */
export function scanWithinBounds(bytes: BorrowedBytes, scan = new JsonScan()): void {
  scan.take(bytes);
  if (scan.maxDepth > jsonBounds.depth) throw tooDeep();
  if (scan.entries > jsonBounds.entries) throw tooMany("entries", "values", fewerInputs);
  if (scan.containers > jsonBounds.containers) {
    throw tooMany("containers", "arrays and objects", fewerInputs);
  }
  if (scan.fields > jsonBounds.fields) {
    throw tooMany("fields", "fields", "Remove fields that the API does not define.");
  }
  if (scan.escapes > jsonBounds.escapes) throw tooMany("escapes", "escape sequences", utf8Advice);
  if (scan.plainBytes > jsonBounds.plainBytes) {
    const advice = "Send JSON without indentation and fewer tokens in one request.";
    throw tooMany("plainBytes", "bytes outside of strings", advice);
  }
}

/** Memory that JavaScriptCore takes for each value, besides the characters of a string. */
const valueBytes = { entry: 8, container: 64, string: 48 } as const;

/** The memory of a body of `bytes` bytes and of the values that it is parsed into. */
export const parsedMemory = (bytes: number, { entries, containers, strings }: JsonScan): number =>
  bytes +
  entries * valueBytes.entry +
  containers * valueBytes.container +
  strings * valueBytes.string;

/** The limits of one slice of a large body. 1,048,576 escape sequences are more text than any model accepts. */
const sliceLimits: SliceLimits = { wideCharacters: maxTextLength, escapes: 1_048_576 };

/** Throws where a slice would take more than four times its size in memory, or too much time. */
export function checkSlice(slice: Buffer): void {
  const exceeded = exceededLimit(slice, sliceLimits);
  if (exceeded === undefined) return;
  const [what, advice] =
    exceeded === "escapes"
      ? ["escape sequences", utf8Advice]
      : ["characters, and not all of them are ASCII", fewerInputs];
  throw new GatewayError(
    "request_too_large",
    `A value in the JSON body has more than ${sliceLimits[exceeded].toLocaleString("en-US")} ${what}. ${advice}`,
  );
}

const tooDeep = (): GatewayError =>
  new GatewayError(
    "invalid_json",
    `The JSON body is nested more than ${jsonBounds.depth} levels deep. Send it with fewer levels.`,
  );

const utf8Advice = "Send text as UTF-8 instead of escaping it.";
const fewerInputs = "Send the inputs in several requests.";

const tooMany = (bound: keyof typeof jsonBounds, what: string, advice: string): GatewayError =>
  new GatewayError(
    "request_too_large",
    `The JSON body has more than ${jsonBounds[bound].toLocaleString("en-US")} ${what}. ${advice}`,
  );

const backslash = 0x5c;
const letterU = 0x75;

/** Limits on the content that makes a slice expensive to parse. */
interface SliceLimits {
  /** Characters (UTF-16 code units), if one of them is not ASCII: then each takes two bytes. */
  readonly wideCharacters: number;
  /** Escape sequences, each of which takes as long as ten characters. */
  readonly escapes: number;
}

/** The limit that a slice exceeds. Slices with fewer bytes than `wideCharacters` are not examined. */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one pass over the bytes; a call per byte would be slow.
export function exceededLimit(
  slice: Buffer,
  { wideCharacters, escapes }: SliceLimits,
): keyof SliceLimits | undefined {
  if (slice.length <= wideCharacters) return undefined;
  const isPlain = !slice.includes(backslash);
  if (isPlain && isAscii(slice)) return undefined;
  let isWide = false;
  let characters = 0;
  let escaped = 0;
  for (let at = 0; at < slice.length; at++, characters++) {
    const byte = slice[at] as number;
    if (byte === backslash) {
      const isUnicode = slice[at + 1] === letterU;
      at += isUnicode ? 5 : 1;
      isWide ||= isUnicode;
      if (++escaped > escapes) return "escapes";
    } else if (byte >= 0x80) {
      isWide = true;
      // A character of four bytes is two code units; a byte that continues a character is none.
      if (byte >= 0xf0) characters++;
      else if (byte < 0xc0) characters--;
    }
    if (isWide && characters >= wideCharacters) return "wideCharacters";
  }
  return undefined;
}
