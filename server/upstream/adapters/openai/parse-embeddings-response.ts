/**
 * Parses an embeddings response. Base64 vectors are cut out before JSON parsing, because they are almost all of its
 * bytes.
 */

import type { ChunkedBytes } from "../../../lib/chunked-bytes.ts";
import { EncodedVector } from "../../../lib/codec/encoded-vector.ts";
import { GatewayError } from "../../../lib/gateway-error.ts";
import { checkUpstreamJson } from "../../../lib/upstream-json.ts";

const key = Buffer.from('"embedding"');
const quote = 0x22;
const bracket = 0x5b;
const colon = 0x3a;
/** What JSON lets stand between its signs. */
const spaces: ReadonlySet<number | undefined> = new Set([0x20, 0x0a, 0x0d, 0x09]);

const decoder = new TextDecoder();
/** An escape may mean that what stands there is not what it says. */
const notPlain = /[\\\x80-\xff]/;

/** From so many on, vectors stay where they are. Of less, one string for all is no burden, and quicker to decode. */
const largeBytes = 512 * 1024;

export interface ParsedResponse {
  /** As JSON.parse gives it, whatever way it took to get there; but vectors in base64 may still lie in the bytes. */
  readonly value: unknown;
  /** What it was parsed from: all of the answer, but perhaps without its vectors. */
  readonly text: string;
}

export function parseEmbeddingsResponse(
  answer: ChunkedBytes,
  inPlaceFrom = largeBytes,
): ParsedResponse {
  return parseAround(answer, inPlaceFrom) ?? parseWhole(answer);
}

function parseWhole(answer: ChunkedBytes): ParsedResponse {
  const bytes = answer.toBuffer();
  if (bytes.length > shortLength) checkUpstreamJson(bytes);
  const text = decoder.decode(bytes);
  try {
    return { value: JSON.parse(text), text };
  } catch (cause) {
    throw new GatewayError("upstream_invalid", "The upstream's answer is not valid JSON.", {
      cause,
    });
  }
}

/** Up to this length it takes some milliseconds to parse, whatever it is, and of the value only known fields are read. */
const shortLength = 64 * 1024;

/**
 * Parses what stands around the vectors, then puts them back. Undefined where that is not plain sailing: where there is
 * anything but ASCII around them, or an escape, or where one is not base64 as it stands there.
 */
function parseAround(answer: ChunkedBytes, inPlaceFrom: number): ParsedResponse | undefined {
  const text = answer.length < inPlaceFrom ? answer.text(0) : undefined;
  if (text?.includes("\\")) return undefined;
  const vectors: (string | EncodedVector)[] = [];
  const around = new Around(answer);
  let from = 0;
  let length = 0;
  for (let at = answer.indexOf(key, 0); at >= 0; at = answer.indexOf(key, from)) {
    const open = openingQuote(answer, at + key.length);
    // Vectors in numbers: there is nothing to cut out.
    if (open === "numbers") return undefined;
    if (open === undefined) {
      around.add(from, at + key.length);
      from = at + key.length;
      continue;
    }
    // All are of one length, as a rule. Where that is wrong, a vector holds a quotation mark, which is not base64.
    const guess = open + 1 + length;
    const isGuessed = text === undefined && answer.byteAt(guess) === quote;
    const close = isGuessed
      ? guess
      : (text?.indexOf('"', open + 1) ?? answer.indexOf(quote, open + 1));
    if (close < 0) return undefined;
    const vector = text?.slice(open + 1, close) ?? EncodedVector.parse(answer, open + 1, close);
    if (vector === undefined) return undefined;
    length = close - open - 1;
    around.add(from, open + 1);
    vectors.push(vector);
    from = close;
  }
  around.add(from, answer.length);
  const rest = around.text();
  if (vectors.length === 0 || notPlain.test(rest)) return undefined;
  if (rest.length > shortLength) checkUpstreamJson(Buffer.from(rest, "latin1"));
  try {
    const value = putBack(JSON.parse(rest), vectors);
    return value === undefined ? undefined : { value, text: rest };
  } catch {
    return undefined;
  }
}

const desk = Buffer.allocUnsafeSlow(64 * 1024);

/** What stands around the vectors, gathered in memory that is used again. */
class Around {
  readonly #answer: ChunkedBytes;
  /** Whoever needs a larger one has it alone. */
  #desk = desk;
  #length = 0;

  constructor(answer: ChunkedBytes) {
    this.#answer = answer;
  }

  add(from: number, to: number): void {
    const end = this.#length + to - from;
    if (end > this.#desk.length) {
      const larger = Buffer.allocUnsafeSlow(2 * end);
      this.#desk.copy(larger, 0, 0, this.#length);
      this.#desk = larger;
    }
    this.#answer.copy(this.#desk, this.#length, from, to);
    this.#length = end;
  }

  text(): string {
    return this.#desk.toString("latin1", 0, this.#length);
  }
}

/** Where the string after a key's colon begins, if a string is what follows. */
function openingQuote(answer: ChunkedBytes, after: number): number | "numbers" | undefined {
  const at = skipSpace(answer, after);
  if (answer.byteAt(at) !== colon) return undefined;
  const open = skipSpace(answer, at + 1);
  const first = answer.byteAt(open);
  return first === quote ? open : first === bracket ? "numbers" : undefined;
}

function skipSpace(answer: ChunkedBytes, from: number): number {
  let at = from;
  while (spaces.has(answer.byteAt(at))) at++;
  return at;
}

/** Each entry has one where a vector was taken out, and there are as many entries as vectors: so they are in the same order. */
function putBack(answer: unknown, vectors: readonly (string | EncodedVector)[]): unknown {
  const { data } = answer as { data?: unknown };
  if (!Array.isArray(data) || data.length !== vectors.length) return undefined;
  for (const [at, entry] of (data as { embedding?: unknown }[]).entries()) {
    if (entry?.embedding !== "") return undefined;
    entry.embedding = vectors[at];
  }
  return answer;
}
