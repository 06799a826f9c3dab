/** An embeddings answer out of its bytes. Vectors in base64 are cut out before parsing: they are all but all of it. */
import { isAscii } from "node:buffer";
import { GatewayError } from "../../std/gateway-error.ts";

const key = Buffer.from('"embedding"');
const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;

/** The answer as JSON.parse gives it, whatever way it took to get there. */
export function parseAnswer(bytes: Uint8Array): unknown {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return parseAround(text) ?? parseWhole(text);
}

function parseWhole(text: Buffer): unknown {
  try {
    return JSON.parse(text.toString("utf8"));
  } catch (cause) {
    throw new GatewayError("upstream_invalid", "The upstream's answer is not valid JSON.", {
      cause,
    });
  }
}

/** Parses what stands around the vectors, then puts them back. Undefined where that is not plain sailing. */
function parseAround(text: Buffer): unknown {
  // The vectors are cut out as bytes, which are characters only as long as all of them are ASCII.
  if (!isAscii(text)) return undefined;
  const vectors: string[] = [];
  let around = "";
  let from = 0;
  for (let at = text.indexOf(key); at >= 0; at = text.indexOf(key, at + 1)) {
    const open = openingQuote(text, at + key.length);
    if (open === undefined || text[at - 1] === backslash) continue;
    const close = text.indexOf(quote, open + 1);
    if (close < 0) return undefined;
    const vector = text.toString("latin1", open + 1, close);
    // An escaped slash is legal in JSON and means that this is not the base64 itself.
    if (vector.includes("\\")) return undefined;
    around += `${text.toString("utf8", from, open + 1)}${vectors.length}`;
    vectors.push(vector);
    from = close;
    at = close;
  }
  if (vectors.length === 0) return undefined;
  try {
    return putBack(JSON.parse(around + text.toString("utf8", from)), vectors);
  } catch {
    return undefined;
  }
}

/** Where the string after a key's colon begins, if a string is what follows. */
function openingQuote(text: Buffer, after: number): number | undefined {
  let at = skipSpace(text, after);
  if (text[at] !== colon) return undefined;
  at = skipSpace(text, at + 1);
  return text[at] === quote ? at : undefined;
}

function skipSpace(text: Buffer, from: number): number {
  let at = from;
  while (text[at] === 0x20 || text[at] === 0x0a || text[at] === 0x0d || text[at] === 0x09) at++;
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
