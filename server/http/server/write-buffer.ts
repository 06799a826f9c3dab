/**
 * Write buffer: one buffer, shared by all connections, in which head and body of a small response are joined. Joining
 * them as strings would leave garbage of the response's size to the collector.
 */

import type { BodyChunks } from "../../request/http-types.ts";

/**
 * Room for the head. It is written after the body, because it contains the length of the body, and ends where the body
 * begins.
 */
const headBytes = 4 * 1024;
/** Maximum length of the body, in characters of up to three bytes each. */
const maxBodyCharacters = 32 * 1024;
const writeBuffer = Buffer.allocUnsafeSlow(headBytes + 3 * maxBodyCharacters);

/** A response in the write buffer. It must be written or copied before the next response is assembled. */
export interface BufferedResponse {
  readonly bytes: Buffer;
  readonly from: number;
  readonly length: number;
}

/** `head`: returns the head for a body of that many bytes, in ASCII. Undefined where the response does not fit. */
export function assembleResponse(
  parts: BodyChunks,
  head: (bytes: number) => string,
): BufferedResponse | undefined {
  let characters = 0;
  for (const part of parts) characters += part.length;
  if (characters > maxBodyCharacters) return undefined;
  const end = copyParts(parts, writeBuffer, headBytes);
  const first = head(end - headBytes);
  if (first.length > headBytes) return undefined;
  const from = headBytes - first.length;
  writeBuffer.write(first, from, "latin1");
  return { bytes: writeBuffer, from, length: end - from };
}

/**
 * Joins a body that is too large for the write buffer. A string that is written in several steps would be encoded again
 * at each.
 */
export function joinParts(parts: BodyChunks): Uint8Array {
  const [first] = parts;
  if (parts.length === 1 && typeof first === "object") return first;
  let length = 0;
  for (const part of parts) length += Buffer.byteLength(part);
  const bytes = Buffer.allocUnsafeSlow(length);
  copyParts(parts, bytes, 0);
  return bytes;
}

/** Returns the end of the copied bytes. */
function copyParts(parts: BodyChunks, into: Buffer, from: number): number {
  let end = from;
  for (const part of parts) {
    if (typeof part === "string") end += into.write(part, end);
    else {
      into.set(part, end);
      end += part.length;
    }
  }
  return end;
}
