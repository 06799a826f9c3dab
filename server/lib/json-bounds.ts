/**
 * JSON bounds: limits on the structure of a JSON body, checked on its bytes as they arrive and before they are parsed.
 * `JSON.parse` takes 10 to 100 ns for each value, field and escape sequence, whatever its size, so a body of the
 * largest size that is allowed could take a second of CPU time, and many times its size in memory; within these bounds,
 * it takes at most 50 ms.
 */

import type { BorrowedBytes } from "./borrowed-bytes.ts";
import { GatewayError } from "./gateway-error.ts";
import { JsonFilter, JsonScan, mayExceedDepth } from "./json-scan.ts";

export const jsonBounds = {
  /** No request needs more levels, and serializing tens of thousands of levels would overflow the stack. */
  depth: 128,
  /** Commas: entries of arrays and fields of objects together. OpenAI takes 300,000 tokens in one request. */
  entries: 524_288,
  /** Arrays and objects; more than the inputs that one request may have at most. */
  containers: 131_072,
  /** Fields of all objects together. */
  fields: 16_384,
  /**
   * Backslashes in strings. Parsing a short escape takes 17 ns; written as \uXXXX, this many escapes are more than the
   * default size limit of a body.
   */
  escapes: 2_097_152,
  /** Bytes outside of strings: numbers, punctuation, spaces. Eight for each entry. */
  plainBytes: 4_194_304,
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

/** A JSON body below this size can exceed none of `jsonBounds` except the nesting depth. */
export const smallBytes = 16 * 1024;

/** Bytes that are scanned in one part: about a millisecond. */
const partBytes = 256 * 1024;

/** The error of a JSON text that exceeds a bound. In parts, between which other requests may be served. */
export function* exceededJsonBound(bytes: Buffer): Generator<void, GatewayError | undefined> {
  const isSmall = bytes.length < smallBytes;
  if (isSmall && !mayExceedDepth(bytes.toString("latin1"), jsonBounds.depth)) return undefined;
  const scan = new JsonScan();
  try {
    for (let from = 0; from < bytes.length; from += partBytes) {
      scanWithinBounds(bytes.subarray(from, from + partBytes), scan);
      yield;
    }
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  return undefined;
}

/**
 * The JSON text of an object with null in place of each array and object in it: a text that exceeds a bound can be
 * parsed then. Undefined if it is still not small. In parts, between which other requests may be served.
 */
export function* withoutNestedJson(bytes: Buffer): Generator<void, Buffer | undefined> {
  const filter = new JsonFilter({ depth: 1, memberValues: Infinity, values: Infinity });
  const kept: Uint8Array[] = [];
  let length = 0;
  for (let from = 0; from < bytes.length; from += partBytes) {
    const part = filter.push(bytes.subarray(from, from + partBytes));
    length += part.length;
    if (length > smallBytes) return undefined;
    kept.push(part);
    yield;
  }
  return Buffer.concat(kept);
}

/** Memory that JavaScriptCore takes for each value, besides the characters of a string. */
const valueBytes = { entry: 8, container: 64, string: 48 } as const;

/** The memory of a body of `bytes` bytes and of the values that it is parsed into. */
export const parsedMemory = (bytes: number, { entries, containers, strings }: JsonScan): number =>
  bytes +
  entries * valueBytes.entry +
  containers * valueBytes.container +
  strings * valueBytes.string;

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
