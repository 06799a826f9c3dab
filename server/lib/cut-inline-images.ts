/**
 * Long `data:` URLs of a JSON body, such as the images of an edit: they are cut out of the bytes before the rest is
 * decoded and parsed, and put back into the parsed value. So the size limit of JSON text does not apply to images, and
 * a prompt with a character outside of Latin-1 does not double the memory of the images beside it.
 */

import { isAscii } from "node:buffer";
import { JsonPlaceholders } from "./json-placeholders.ts";

/** Shorter URLs stay in the JSON. */
const minBytes = 64 * 1024;
/** A longer URL is copied in a step of its own. */
const stepBytes = 1024 * 1024;

const urlStart = Buffer.from('"data:');
const quote = 0x22;
const backslash = 0x5c;

interface CutBody {
  /** The JSON with a placeholder for each URL. */
  readonly json: Buffer;
  /** Puts the URLs back into the parsed JSON. */
  restore(value: unknown): unknown;
}

/** In steps: copying a URL of some megabytes takes milliseconds. */
export function* cutDataUrls(body: Buffer): Generator<void, CutBody> {
  const placeholders = new JsonPlaceholders();
  const parts: Buffer[] = [];
  let from = 0;
  for (let at = body.indexOf(urlStart); at >= 0; ) {
    const end = body.indexOf(quote, at + 1);
    if (end < 0) break;
    const url = end - at > minBytes ? yield* readString(body, at, end) : undefined;
    if (url !== undefined) {
      parts.push(body.subarray(from, at + 1), Buffer.from(placeholders.add(url)));
      from = end;
      yield;
    }
    at = body.indexOf(urlStart, end);
  }
  const json = from === 0 ? body : Buffer.concat([...parts, body.subarray(from)]);
  return { json, restore: (value) => placeholders.restore(value) };
}

/**
 * The string between the quotes at both offsets. PHP escapes `/`, and .NET escapes `+`. Undefined if the quotes are not
 * those of one string, or the string is no base64.
 */
function* readString(body: Buffer, from: number, to: number): Generator<void, string | undefined> {
  const bytes = body.subarray(from, to + 1);
  if (body[from - 1] === backslash || !isAscii(bytes)) return undefined;
  const isEscaped = bytes.includes(backslash);
  if (bytes.length > stepBytes) yield;
  if (!isEscaped) return bytes.toString("latin1", 1, bytes.length - 1);
  try {
    const value: unknown = JSON.parse(bytes.toString("latin1"));
    return typeof value === "string" ? value : undefined;
  } catch {
    // The body is parsed without the cut, and refused if it is not JSON.
    return undefined;
  }
}
