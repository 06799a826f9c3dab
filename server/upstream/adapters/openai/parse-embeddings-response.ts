/**
 * Parses an embeddings response. Base64 vectors stay in the received bytes, because they are almost all of the
 * response: only the text around them is parsed as JSON.
 */

import type { ChunkedBytes } from "../../../lib/chunked-bytes.ts";
import { EncodedVector } from "../../../lib/vector-codec/index.ts";
import { invalidJson } from "../../invalid-response.ts";
import { checkUpstreamJson, parseLargeJson } from "../../upstream-json.ts";

const key = Buffer.from('"embedding"');
const quote = 0x22;
const bracket = 0x5b;
const colon = 0x3a;
/** JSON whitespace. */
const spaces: ReadonlySet<number | undefined> = new Set([0x20, 0x0a, 0x0d, 0x09]);

const decoder = new TextDecoder();
/** With an escape, the raw text may differ from the parsed text. */
const notPlain = /[\\\x80-\xff]/;

export interface ParsedResponse {
  /** As JSON.parse returns it; base64 vectors may still reference the response's bytes. */
  readonly value: unknown;
  /** The parsed text: the whole response, possibly without its vectors. Undefined: it was parsed in slices. */
  readonly text: string | undefined;
}

export const parseEmbeddingsResponse = (response: ChunkedBytes): ParsedResponse =>
  parseWithoutVectors(response) ?? parseWhole(response);

/** The maximum size of an entry of `data`, and of everything outside lists. */
const maxValueBytes = 2 * 1024 * 1024;

/**
 * Like `parseEmbeddingsResponse`, for a large response: numbers are parsed in slices, so that other requests are served
 * in between.
 */
export async function parseLargeEmbeddingsResponse(
  response: ChunkedBytes,
): Promise<ParsedResponse> {
  const parsed = parseWithoutVectors(response);
  if (parsed) return parsed;
  try {
    return { value: await parseLargeJson(response, maxValueBytes), text: undefined };
  } catch (cause) {
    throw cause instanceof SyntaxError ? invalidJson(cause) : cause;
  }
}

function parseWhole(response: ChunkedBytes): ParsedResponse {
  const bytes = response.toBuffer();
  if (bytes.length > shortLength) checkUpstreamJson(bytes);
  const text = decoder.decode(bytes);
  try {
    return { value: JSON.parse(text), text };
  } catch (cause) {
    throw invalidJson(cause);
  }
}

/** JSON of up to this length, whatever its content, takes some milliseconds to parse; only known fields are read. */
const shortLength = 64 * 1024;

/**
 * Parses the JSON around the vectors, then puts them back. Undefined if that is not safe: the surrounding text is not
 * ASCII or has an escape, or a vector is not plain base64.
 */
function parseWithoutVectors(response: ChunkedBytes): ParsedResponse | undefined {
  const surrounding = new SurroundingText(response);
  const vectors = cutOutVectors(response, surrounding);
  if (!vectors || vectors.length === 0) return undefined;
  const jsonText = surrounding.text();
  if (notPlain.test(jsonText)) return undefined;
  if (jsonText.length > shortLength) checkUpstreamJson(Buffer.from(jsonText, "latin1"));
  try {
    const value = restoreVectors(JSON.parse(jsonText), vectors);
    return value === undefined ? undefined : { value, text: jsonText };
  } catch {
    return undefined;
  }
}

/** Adds the text around the vectors to `surrounding`. */
function cutOutVectors(
  response: ChunkedBytes,
  surrounding: SurroundingText,
): EncodedVector[] | undefined {
  const vectors: EncodedVector[] = [];
  let from = 0;
  let length = 0;
  for (let at = nextKey(response, 0); at >= 0; at = nextKey(response, from)) {
    const open = openingQuote(response, at + key.length);
    // Vectors as numbers: there is no text to cut out.
    if (open === "numbers") return undefined;
    if (open === undefined) {
      if (!surrounding.add(from, at + key.length)) return undefined;
      from = at + key.length;
      continue;
    }
    const close = closingQuote(response, open + 1, length);
    if (close < 0 || !surrounding.add(from, open + 1)) return undefined;
    const vector = EncodedVector.parse(response, open + 1, close);
    if (!vector) return undefined;
    length = close - open - 1;
    vectors.push(vector);
    from = close;
  }
  return surrounding.add(from, response.length) ? vectors : undefined;
}

/** Where the next vector is farther away, there is too much text around the vectors. */
const nextKey = (response: ChunkedBytes, from: number): number =>
  response.indexOf(key, from, from + maxSurroundingBytes);

/** Vectors usually have the same length. A wrong guess puts a quotation mark into a vector, which is not base64. */
function closingQuote(response: ChunkedBytes, from: number, expectedLength: number): number {
  const isExpected = response.byteAt(from + expectedLength) === quote;
  return isExpected ? from + expectedLength : response.indexOf(quote, from);
}

/**
 * The maximum size of the text around the vectors, which is parsed at once: over 100 bytes for each of 16,384 vectors.
 */
const maxSurroundingBytes = 2 * 1024 * 1024;

const sharedBuffer = Buffer.allocUnsafeSlow(64 * 1024);

/** The text around the vectors, collected in a reused buffer. */
class SurroundingText {
  readonly #response: ChunkedBytes;
  /** A larger buffer is not shared. */
  #buffer = sharedBuffer;
  #length = 0;

  constructor(response: ChunkedBytes) {
    this.#response = response;
  }

  /** False: the text would be too long. */
  add(from: number, to: number): boolean {
    const end = this.#length + to - from;
    if (end > maxSurroundingBytes) return false;
    if (end > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(2 * end);
      this.#buffer.copy(larger, 0, 0, this.#length);
      this.#buffer = larger;
    }
    this.#response.copy(this.#buffer, this.#length, from, to);
    this.#length = end;
    return true;
  }

  text(): string {
    return this.#buffer.toString("latin1", 0, this.#length);
  }
}

/** The offset of the string value after a key. Undefined: the value is neither a string nor a list. */
function openingQuote(response: ChunkedBytes, after: number): number | "numbers" | undefined {
  const at = skipSpace(response, after);
  if (response.byteAt(at) !== colon) return undefined;
  const open = skipSpace(response, at + 1);
  const first = response.byteAt(open);
  if (first === quote) return open;
  return first === bracket ? "numbers" : undefined;
}

const maxSpaces = 1024;

function skipSpace(response: ChunkedBytes, from: number): number {
  let at = from;
  // After `maxSpaces` spaces the search ends, and the value is not cut out of the response.
  while (at - from < maxSpaces && spaces.has(response.byteAt(at))) at++;
  return at;
}

/**
 * Restores the vectors that were cut out. Every entry lacks its vector, and there are as many entries as vectors, so
 * both have the same order.
 */
function restoreVectors(response: unknown, vectors: readonly EncodedVector[]): unknown {
  const { data } = response as { data?: unknown };
  if (!Array.isArray(data) || data.length !== vectors.length) return undefined;
  for (const [at, entry] of (data as { embedding?: unknown }[]).entries()) {
    if (entry?.embedding !== "") return undefined;
    entry.embedding = vectors[at];
  }
  return response;
}
