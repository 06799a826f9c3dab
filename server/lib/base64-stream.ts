/** Decodes base64 as a stream: four characters make three bytes, and an incomplete group waits for the next chunk. */

import { type BorrowedBytes, type BorrowedChunks, copyOf, joinCopies } from "./borrowed-bytes.ts";
import { ChunkedBytes } from "./chunked-bytes.ts";
import { decodeBlocks } from "./vector-codec/index.ts";

export class InvalidBase64 extends Error {
  override readonly name = "NotBase64";
}

/**
 * Ignores line breaks. All chunks use one buffer, which is freed after the last one: a buffer for each would become
 * garbage faster than it is collected. Throws InvalidBase64.
 */
export async function* decodeBase64Stream(chunks: BorrowedChunks): AsyncGenerator<BorrowedBytes> {
  let owned = ChunkedBytes.allocate(0);
  let left: Uint8Array = new Uint8Array();
  const decoder = new StrictDecoder();
  try {
    for await (const chunk of chunks) {
      const characters = left.length + chunk.length;
      // Four characters make three bytes: a buffer of the first chunk's length is long enough for the next ones.
      if (owned.length < (characters / 4) * 3) {
        owned.release();
        owned = ChunkedBytes.allocate(characters);
      }
      const [buffer] = owned.list as [Buffer];
      const taken = decoder.isAtEnd ? 0 : decodeBlocks([left, chunk], buffer);
      if (taken > 0) {
        left = lastOf(left, chunk, characters - taken);
        yield buffer.subarray(0, (taken / 4) * 3);
        continue;
      }
      // Few characters, or characters outside the base64 alphabet.
      const bytes = decoder.read(joinCopies([left, chunk]));
      left = decoder.left;
      if (bytes.length > 0) yield bytes;
    }
  } finally {
    owned.release();
  }
  const bytes = decoder.read(left);
  if (bytes.length > 0) yield bytes;
  const last = decoder.end();
  if (last.length > 0) yield last;
}

/** A copy of the last bytes of both. */
const lastOf = (before: Uint8Array, chunk: BorrowedBytes, length: number): Uint8Array =>
  chunk.length >= length
    ? copyOf(chunk.subarray(chunk.length - length))
    : joinCopies([before, chunk]).subarray(-length);

const alphabet = /^[A-Za-z0-9+/_-]*$/;

class StrictDecoder {
  #left = "";
  #padding = 0;

  /** Padding ends the text: no characters may follow it. */
  get isAtEnd(): boolean {
    return this.#padding > 0;
  }

  /** The characters of an incomplete group, to be put before the next chunk. */
  get left(): Uint8Array {
    return Buffer.from(this.#left, "latin1");
  }

  /** `characters`: the new characters, with the incomplete group before them. */
  read(characters: Uint8Array): Uint8Array {
    const text = Buffer.from(characters).toString("latin1").replace(/\s+/g, "");
    const content = text.replace(/=+$/, "");
    const hasTextAfterPadding = this.isAtEnd && content !== this.#left;
    if (!alphabet.test(content) || hasTextAfterPadding) throw new InvalidBase64();
    this.#padding += text.length - content.length;
    if (this.#padding > 2) throw new InvalidBase64();
    const whole = content.length - (content.length % 4);
    this.#left = content.slice(whole);
    return Buffer.from(content.slice(0, whole), "base64");
  }

  end(): Uint8Array {
    if (this.#left.length === 1) throw new InvalidBase64();
    return Buffer.from(this.#left, "base64");
  }
}
