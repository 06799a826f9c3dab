/**
 * Long `data:` URLs of a JSON body, such as the images of an edit: they are cut out of the bytes before the rest is
 * decoded and parsed, and put back into the parsed value. So the size limit of JSON text does not apply to images, and a
 * prompt with a character outside of Latin-1 does not double the memory of the images beside it.
 */

import { JsonPlaceholders } from "../lib/json-placeholders.ts";

/** Shorter URLs stay in the JSON. */
const minBytes = 64 * 1024;

const urlStart = Buffer.from('"data:');
const quote = 0x22;
const backslash = 0x5c;

interface CutBody {
  /** The JSON with a placeholder for each URL. */
  readonly json: Buffer;
  /** Puts the URLs back into the parsed JSON. */
  restore(value: unknown): unknown;
}

export function cutDataUrls(body: Buffer): CutBody {
  const placeholders = new JsonPlaceholders();
  const parts: Buffer[] = [];
  let from = 0;
  for (let at = body.indexOf(urlStart); at >= 0; ) {
    const end = body.indexOf(quote, at + 1);
    if (end < 0) break;
    if (end - at > minBytes && isPlainText(body, at, end)) {
      const url = body.toString("latin1", at + 1, end);
      parts.push(body.subarray(from, at + 1), Buffer.from(placeholders.add(url)));
      from = end;
    }
    at = body.indexOf(urlStart, end);
  }
  const json = from === 0 ? body : Buffer.concat([...parts, body.subarray(from)]);
  return { json, restore: (value) => placeholders.restore(value) };
}

/** Whether the quotes at both offsets are those of a string without escape sequences. */
const isPlainText = (body: Buffer, from: number, to: number): boolean =>
  body[from - 1] !== backslash && !body.subarray(from, to).includes(backslash);
