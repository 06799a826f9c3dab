/**
 * Bounds on the structure of a JSON body, checked on its bytes as they arrive and before they are parsed. `JSON.parse`
 * takes 10 to 100 ns for each value, field and escape sequence, whatever its size, so a body of the largest size that
 * is allowed could hold the event loop for seconds; within these bounds it takes at most 50 ms for each 10 MB, and at
 * most 75 ms where the body is smaller than 15 MB.
 * The scan does not validate: bytes that are not JSON are counted as if they were, and refused by the parser.
 */
import { GatewayError } from "../lib/gateway-error.ts";

export const jsonBounds = {
  /** No request needs more levels, and printing what is nested tens of thousands deep would overflow the stack. */
  depth: 128,
  /** Commas: entries of arrays and fields of objects together. OpenAI takes 300,000 tokens in one request. */
  entries: 1_048_576,
  /** Arrays and objects; more than the inputs that one request may have (VEXEL_MAX_INPUTS). */
  containers: 131_072,
  /** Fields of all objects together. */
  fields: 4096,
  /** Backslashes in strings. The parser takes 17 ns for a short one; as \uXXXX, these are 25 MB of Chinese text. */
  escapes: 4_194_304,
  /** Bytes outside of strings: numbers, punctuation, spaces. Eight for each entry. */
  plainBytes: 8_388_608,
} as const;

const quote = 0x22;
const backslash = 0x5c;

/** Bytes that are counted; all others are passed over. */
const counted = new Uint8Array(256);
for (const sign of '"[]{},:') counted[sign.charCodeAt(0)] = 1;

/** Within a string, so many plain bytes in a row make the native search worth its call. */
const enoughPlain = 24;

export class JsonBounds {
  #inString = false;
  /** The last byte so far was a backslash that escapes the next one. */
  #escaped = false;
  #depth = 0;
  #entries = 0;
  #containers = 0;
  #fields = 0;
  #escapes = 0;
  #plainBytes = 0;
  // Where the next of each is in the bytes at hand; behind that place they have not been searched yet. Kept from one
  // string to the next, so that the search never goes over the same bytes twice.
  #nextQuote = -1;
  #nextBackslash = -1;

  /** The next bytes of the body. Throws at the first bound that is passed. */
  take(bytes: Buffer): void {
    let at = 0;
    this.#nextQuote = -1;
    this.#nextBackslash = -1;
    while (at < bytes.length) {
      at = this.#inString ? this.#passString(bytes, at) : this.#passStructure(bytes, at);
    }
    if (this.#entries > jsonBounds.entries) throw tooMany(jsonBounds.entries, "values");
    if (this.#containers > jsonBounds.containers) {
      throw tooMany(jsonBounds.containers, "arrays and objects");
    }
    if (this.#fields > jsonBounds.fields) throw tooMany(jsonBounds.fields, "fields");
    if (this.#escapes > jsonBounds.escapes) throw tooMany(jsonBounds.escapes, "escape sequences");
    if (this.#plainBytes > jsonBounds.plainBytes) {
      throw tooMany(jsonBounds.plainBytes, "bytes outside of strings");
    }
  }

  /** From a place outside of strings to behind the next quote that opens one. */
  #passStructure(bytes: Buffer, from: number): number {
    for (let at = from; at < bytes.length; at++) {
      const byte = bytes[at] as number;
      if (counted[byte] === 0) continue;
      if (byte === quote) {
        this.#inString = true;
        this.#plainBytes += at - from;
        return at + 1;
      }
      this.#count(byte);
    }
    this.#plainBytes += bytes.length - from;
    return bytes.length;
  }

  #count(byte: number): void {
    switch (byte) {
      case 0x2c: // ,
        this.#entries++;
        return;
      case 0x3a: // :
        this.#fields++;
        return;
      case 0x5b: // [
      case 0x7b: // {
        this.#containers++;
        if (++this.#depth > jsonBounds.depth) throw tooDeep();
        return;
      default:
        this.#depth--;
    }
  }

  /** From a place within a string to behind the quote that closes it. */
  #passString(bytes: Buffer, from: number): number {
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
        this.#escapes++;
        plain = 0;
        at += 2;
        continue;
      }
      at++;
      if (++plain < enoughPlain) continue;
      if (this.#nextBackslash < at) this.#nextBackslash = indexOf(bytes, backslash, at);
      if (this.#nextQuote < at) this.#nextQuote = indexOf(bytes, quote, at);
      at = Math.min(this.#nextQuote, this.#nextBackslash);
      plain = 0;
    }
    this.#escaped = at > bytes.length;
    return bytes.length;
  }
}

/** The length where there is none. */
function indexOf(bytes: Buffer, byte: number, from: number): number {
  const found = bytes.indexOf(byte, from);
  return found < 0 ? bytes.length : found;
}

const tooDeep = (): GatewayError =>
  new GatewayError("invalid_json", `The body is nested more than ${jsonBounds.depth} levels deep.`);

const tooMany = (most: number, what: string): GatewayError =>
  new GatewayError(
    "request_too_large",
    `The JSON body has more than ${most.toLocaleString("en-US")} ${what}. Send the inputs in several requests.`,
  );
