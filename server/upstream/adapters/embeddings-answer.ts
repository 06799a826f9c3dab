/** An embeddings answer out of its text. Vectors in base64 are cut out before parsing: they are all but all of it. */
import { GatewayError } from "../../std/gateway-error.ts";

const key = '"embedding"';

/** The answer as JSON.parse gives it, whatever way it took to get there. */
export const parseAnswer = (text: string): unknown => parseAround(text) ?? parseWhole(text);

function parseWhole(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new GatewayError("upstream_invalid", "The upstream's answer is not valid JSON.", {
      cause,
    });
  }
}

/**
 * Parses what stands around the vectors, then puts them back. Undefined where that is not plain sailing.
 * A piece of a string shares its memory, so a vector is never copied.
 */
function parseAround(text: string): unknown {
  const vectors: string[] = [];
  let around = "";
  let from = 0;
  for (let at = text.indexOf(key); at >= 0; at = text.indexOf(key, at + 1)) {
    const open = openingQuote(text, at + key.length);
    if (open === undefined || text[at - 1] === "\\") continue;
    const close = text.indexOf('"', open + 1);
    if (close < 0) return undefined;
    const vector = text.slice(open + 1, close);
    // An escaped slash is legal in JSON and means that this is not the base64 itself.
    if (vector.includes("\\")) return undefined;
    around += `${text.slice(from, open + 1)}${vectors.length}`;
    vectors.push(vector);
    from = close;
    at = close;
  }
  if (vectors.length === 0) return undefined;
  try {
    return putBack(JSON.parse(around + text.slice(from)), vectors);
  } catch {
    return undefined;
  }
}

/** Where the string after a key's colon begins, if a string is what follows. */
function openingQuote(text: string, after: number): number | undefined {
  const colon = skipSpace(text, after);
  if (text[colon] !== ":") return undefined;
  const open = skipSpace(text, colon + 1);
  return text[open] === '"' ? open : undefined;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (" \n\r\t".includes(text[at] ?? "x")) at++;
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
