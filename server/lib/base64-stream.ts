/** Decodes base64 as a stream: four characters make three bytes, and an incomplete group waits for the next chunk. */

import { type BorrowedBytes, type BorrowedChunks, viewOf } from "./borrowed-bytes.ts";

export class InvalidBase64 extends Error {
  override readonly name = "NotBase64";
}

/**
 * Ignores line breaks. All chunks use one buffer: a buffer for each would become garbage faster than it is collected.
 * Throws InvalidBase64.
 */
export async function* decodeBase64Stream(chunks: BorrowedChunks): AsyncGenerator<BorrowedBytes> {
  let buffer = Buffer.alloc(0);
  let left = "";
  let isAtEnd = false;
  for await (const chunk of chunks) {
    const text = left + textOf(chunk);
    // Padding ends the text.
    if (isAtEnd && text.trim() !== "") throw new InvalidBase64();
    if (buffer.length < text.length) buffer = Buffer.allocUnsafeSlow(text.length);
    const { read, written } = decode(text, buffer, "stop-before-partial");
    left = text.slice(read).replace(/\s+/g, "");
    isAtEnd ||= left === "" && text.trimEnd().endsWith("=");
    if (written > 0) yield buffer.subarray(0, written);
  }
  const last = new Uint8Array(left.length);
  const { written } = decode(left, last, "loose");
  if (written > 0) yield last.subarray(0, written);
}

function textOf(chunk: BorrowedBytes): string {
  const { buffer, byteOffset, length } = viewOf(chunk);
  return Buffer.from(buffer, byteOffset, length).toString("latin1");
}

function decode(
  text: string,
  into: Uint8Array,
  lastChunkHandling: "loose" | "stop-before-partial",
) {
  for (const alphabet of ["base64", "base64url"] as const) {
    try {
      return into.setFromBase64(text, { alphabet, lastChunkHandling });
    } catch {
      // The text has a character of the other alphabet, or is not base64.
    }
  }
  throw new InvalidBase64();
}
