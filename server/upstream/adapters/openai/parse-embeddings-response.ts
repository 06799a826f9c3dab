/**
 * Parses an embeddings response. Base64 vectors stay in the received bytes, because they are almost all of the
 * response: only the text around them is parsed as JSON.
 */

import { EncodedVector } from "../../../lib/vector-codec/index.ts";
import { parseVectorsJson, type VectorsJson } from "../../parse-vectors-json.ts";
import { checkUpstreamJson } from "../../upstream-json.ts";

const key = Buffer.from('"embedding"');
const quote = 0x22;
const bracket = 0x5b;
const colon = 0x3a;
/** JSON whitespace. */
const spaces: ReadonlySet<number | undefined> = new Set([0x20, 0x0a, 0x0d, 0x09]);

/** With an escape, the raw text may differ from the parsed text. */
const notPlain = /[\\\x80-\xff]/;

/** Base64 vectors reference the response's bytes. A promise for vectors as numbers. */
export const parseEmbeddingsResponse = (response: Buffer): VectorsJson | Promise<VectorsJson> =>
  parseWithoutVectors(response) ?? parseVectorsJson(response, maxSurroundingBytes);

/** JSON of up to this length, whatever its content, takes some milliseconds to parse; only known fields are read. */
const shortLength = 64 * 1024;

/**
 * Parses the JSON around the vectors, then puts them back. Undefined if that is not safe: the surrounding text is not
 * ASCII or has an escape, or a vector is not plain base64.
 */
function parseWithoutVectors(response: Buffer): VectorsJson | undefined {
  const cut = cutOutVectors(response);
  if (!cut || cut.vectors.length === 0) return undefined;
  const { vectors, jsonText } = cut;
  if (notPlain.test(jsonText)) return undefined;
  if (jsonText.length > shortLength) checkUpstreamJson(Buffer.from(jsonText, "latin1"));
  try {
    const value = restoreVectors(JSON.parse(jsonText), vectors);
    return value === undefined ? undefined : { value, areFloat32: true };
  } catch {
    return undefined;
  }
}

/** The vectors, and the text around them. Undefined if a vector is not plain base64, or the text is too long. */
function cutOutVectors(
  response: Buffer,
): { readonly vectors: EncodedVector[]; readonly jsonText: string } | undefined {
  const vectors: EncodedVector[] = [];
  let jsonText = "";
  let from = 0;
  for (let at = nextKey(response, 0); at >= 0; at = nextKey(response, from)) {
    const open = openingQuote(response, at + key.length);
    // Vectors as numbers: there is no text to cut out.
    if (open === "numbers") return undefined;
    const end = open === undefined ? at + key.length : open + 1;
    if (jsonText.length + end - from > maxSurroundingBytes) return undefined;
    jsonText += response.toString("latin1", from, end);
    from = end;
    if (open === undefined) continue;
    const close = response.indexOf(quote, end);
    const vector = close < 0 ? undefined : EncodedVector.parse(response.subarray(end, close));
    if (!vector) return undefined;
    vectors.push(vector);
    from = close;
  }
  if (jsonText.length + response.length - from > maxSurroundingBytes) return undefined;
  return { vectors, jsonText: jsonText + response.toString("latin1", from) };
}

/** Where the next vector is farther away, there is too much text around the vectors. */
function nextKey(response: Buffer, from: number): number {
  // A view for each vector of a short response would be garbage.
  if (response.length - from <= maxSurroundingBytes) return response.indexOf(key, from);
  const at = response.subarray(from, from + maxSurroundingBytes).indexOf(key);
  return at < 0 ? -1 : from + at;
}

/**
 * The maximum size of the text around the vectors, which is parsed at once: over 100 bytes for each of 16,384 vectors.
 */
const maxSurroundingBytes = 2 * 1024 * 1024;

/** The offset of the string value after a key. Undefined if the value is neither a string nor a list. */
function openingQuote(response: Buffer, after: number): number | "numbers" | undefined {
  const at = skipSpace(response, after);
  if (response[at] !== colon) return undefined;
  const open = skipSpace(response, at + 1);
  const first = response[open];
  if (first === quote) return open;
  return first === bracket ? "numbers" : undefined;
}

const maxSpaces = 1024;

function skipSpace(response: Buffer, from: number): number {
  let at = from;
  // After `maxSpaces` spaces the search ends, and the value is not cut out of the response.
  while (at - from < maxSpaces && spaces.has(response[at])) at++;
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
