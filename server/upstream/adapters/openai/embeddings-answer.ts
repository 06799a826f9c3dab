/** An embeddings answer out of its text. Vectors in base64 are cut out before parsing: they are all but all of it. */
import { isAscii } from "node:buffer";
import { GatewayError } from "../../../std/gateway-error.ts";

const key = Buffer.from('"embedding"');
const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;
/** What JSON lets stand between its signs. */
const spaces: ReadonlySet<number | undefined> = new Set([0x20, 0x0a, 0x0d, 0x09]);

const decoder = new TextDecoder();

export interface Parsed {
  /** As JSON.parse gives it, whatever way it took to get there. */
  readonly value: unknown;
  /** All of it, where it is plain ASCII and had to be made: sending it costs less than sending the bytes. */
  readonly text?: string;
}

export function parseAnswer(answer: Uint8Array): Parsed {
  const bytes = Buffer.from(answer.buffer, answer.byteOffset, answer.byteLength);
  return parseAround(bytes) ?? parseWhole(bytes);
}

function parseWhole(bytes: Buffer): Parsed {
  try {
    return { value: JSON.parse(decoder.decode(bytes)) };
  } catch (cause) {
    throw new GatewayError("upstream_invalid", "The upstream's answer is not valid JSON.", {
      cause,
    });
  }
}

/**
 * Parses what stands around the vectors, then puts them back. Undefined where that is not plain sailing: where there is
 * anything but ASCII, or an escape, which may mean that what stands there is not the base64 itself.
 * The vectors are parts of one string, which costs less than a string for each; and less is left to clear away.
 */
function parseAround(bytes: Buffer): Parsed | undefined {
  if (!isAscii(bytes) || bytes.includes(backslash)) return undefined;
  const text = bytes.toString("latin1");
  const vectors: string[] = [];
  let around = "";
  let from = 0;
  for (let at = bytes.indexOf(key); at >= 0; at = bytes.indexOf(key, at + 1)) {
    const open = openingQuote(bytes, at + key.length);
    if (open === undefined) continue;
    const close = bytes.indexOf(quote, open + 1);
    if (close < 0) return undefined;
    around += `${text.slice(from, open + 1)}${vectors.length}`;
    vectors.push(text.slice(open + 1, close));
    from = close;
    at = close;
  }
  if (vectors.length === 0) return undefined;
  try {
    const value = putBack(JSON.parse(around + text.slice(from)), vectors);
    return value === undefined ? undefined : { value, text };
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
