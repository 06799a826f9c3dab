/**
 * Where a small answer is put together: in memory that all of them use, one after the other. Joining head and body as
 * strings would leave as much to the garbage collector as the answer is long.
 */

import type { BodyChunks } from "../../request/http-types.ts";

/** For the head. It is written after the body, whose length it tells, and ends where that begins. */
const headBytes = 4 * 1024;
/** Characters, which are up to three bytes each. */
const maxBodyCharacters = 32 * 1024;
const writeBuffer = Buffer.allocUnsafeSlow(headBytes + 3 * maxBodyCharacters);

/** A stretch of the desk. It must have left, or be copied, before the next answer is put together. */
export interface BufferedResponse {
  readonly bytes: Buffer;
  readonly from: number;
  readonly length: number;
}

/** `head`: for a body of so many bytes; in ASCII. Undefined where it does not fit. */
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

/** What is too large for the desk, as bytes: of a text that leaves piece by piece, each piece would be encoded again. */
export function joinParts(parts: BodyChunks): Uint8Array {
  const [first] = parts;
  if (parts.length === 1 && typeof first === "object") return first;
  let length = 0;
  for (const part of parts) length += Buffer.byteLength(part);
  const bytes = Buffer.allocUnsafeSlow(length);
  copyParts(parts, bytes, 0);
  return bytes;
}

/** Returns where they end. */
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
