/** An embeddings answer out of its text. Vectors in base64 are cut out before parsing: they are all but all of it. */
import { GatewayError } from "../../../std/gateway-error.ts";

const key = Buffer.from('"embedding"');
const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;
/** What JSON lets stand between its signs. */
const spaces: ReadonlySet<number | undefined> = new Set([0x20, 0x0a, 0x0d, 0x09]);

const decoder = new TextDecoder();
const beyondAscii = /[\x80-\xff]/;

/** As JSON.parse gives it, whatever way it took to get there. */
export function parseAnswer(answer: Uint8Array): unknown {
  const bytes = Buffer.from(answer.buffer, answer.byteOffset, answer.byteLength);
  return parseAround(bytes) ?? parseWhole(bytes);
}

function parseWhole(bytes: Buffer): unknown {
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch (cause) {
    throw new GatewayError("upstream_invalid", "The upstream's answer is not valid JSON.", {
      cause,
    });
  }
}

/**
 * Parses what stands around the vectors, then puts them back. Undefined where that is not plain sailing: where there is
 * anything but ASCII around them, or an escape, which may mean that what stands there is not the base64 itself.
 * The vectors are parts of one string, which costs less than a string for each; and less is left to clear away.
 */
function parseAround(bytes: Buffer): unknown {
  if (bytes.includes(backslash)) return undefined;
  const text = bytes.toString("latin1");
  const vectors: string[] = [];
  let around = "";
  let from = 0;
  let length = 0;
  for (let at = bytes.indexOf(key); at >= 0; at = bytes.indexOf(key, at + 1)) {
    const open = openingQuote(bytes, at + key.length);
    if (open === undefined) continue;
    // All are of one length, as a rule. Where that is wrong, a vector holds a quotation mark, and nobody believes it.
    const guess = open + 1 + length;
    const close = bytes[guess] === quote ? guess : bytes.indexOf(quote, open + 1);
    if (close < 0) return undefined;
    length = close - open - 1;
    around += `${text.slice(from, open + 1)}${vectors.length}`;
    vectors.push(text.slice(open + 1, close));
    from = close;
    at = close;
  }
  around += text.slice(from);
  if (vectors.length === 0 || beyondAscii.test(around)) return undefined;
  try {
    return putBack(JSON.parse(around), vectors);
  } catch {
    return undefined;
  }
}

/** Where the string after a key's colon begins, if a string is what follows. */
function openingQuote(bytes: Buffer, after: number): number | undefined {
  const at = skipSpace(bytes, after);
  if (bytes[at] !== colon) return undefined;
  const open = skipSpace(bytes, at + 1);
  return bytes[open] === quote ? open : undefined;
}

function skipSpace(bytes: Buffer, from: number): number {
  let at = from;
  while (spaces.has(bytes[at])) at++;
  return at;
}

function putBack(answer: unknown, vectors: readonly string[]): unknown {
  const { data } = answer as { data?: unknown };
  if (!Array.isArray(data) || data.length !== vectors.length) return undefined;
  for (const [at, entry] of (data as { embedding?: unknown }[]).entries()) {
    if (entry?.embedding !== String(at)) return undefined;
    entry.embedding = vectors[at];
  }
  return answer;
}
