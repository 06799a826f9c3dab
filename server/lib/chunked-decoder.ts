/**
 * Decodes `transfer-encoding: chunked` as it arrives. Strict where leniency would let one message run into the next.
 * Small chunks are joined, so that a sender of 1-byte chunks costs no object for each of them.
 */

import { cr, hexDigits, lf } from "./chunk-framing.ts";
import { ChunkJoiner } from "./chunk-joiner.ts";

/** The longest line between two chunks, and the most bytes of trailers. */
const maxLineBytes = 16 * 1024;

/**
 * Bytes of framing beyond what a plain size line needs, as in Go's net/http: each chunk may have 16 bytes and twice its
 * own length. Otherwise megabytes of chunk extensions could carry one byte of body.
 */
const maxExcessBytes = 16 * 1024;
const freeBytesPerChunk = 16;

/** Other lines are refused: one parser could read them as the end of the message, another as the next message. */
const trailer = /^(?:[!-9;-~]+:[\t\x20-\x7e\x80-\xff]*)?$/;

/** A size and its extensions: no control characters, and every quote is closed. */
const sizeLine =
  /^([0-9a-f]{1,8})[ \t]*(?:;(?:[\t\x20\x21\x23-\x7e\x80-\xff]|"(?:[\t\x20\x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*")*)?$/i;

const noBytes = Buffer.alloc(0);

/** A size line, a chunk's bytes, the line break after them, or the lines after the last chunk. */
type Frame = "size" | "bytes" | "chunk-end" | "trailer";

export class ChunkedDecoder {
  done = false;
  /** A line that has not completely arrived. */
  #pending: Buffer = noBytes;
  /** Remaining bytes of the current chunk. */
  #chunkBytesLeft = 0;
  /** What comes next. */
  #frame: Frame = "size";
  #trailerBytes = 0;
  #excessBytes = 0;
  readonly #malformed: (reason: string) => Error;

  /** `malformed`: creates the error for malformed framing. */
  constructor(malformed: (reason: string) => Error) {
    this.#malformed = malformed;
  }

  /** Passes the bytes inside the chunks to `onChunk`, and returns the bytes after the last chunk. */
  push(bytes: Buffer, onChunk: (chunk: Buffer) => void): Buffer {
    const all = this.#pending.length > 0 ? Buffer.concat([this.#pending, bytes]) : bytes;
    this.#pending = noBytes;
    const end = all.length;
    const joiner = new ChunkJoiner(onChunk);
    let at = 0;
    while (at < end && !this.done) {
      if (this.#frame === "bytes") {
        const length = Math.min(this.#chunkBytesLeft, end - at);
        joiner.add(all, at, length);
        at += length;
        this.#chunkBytesLeft -= length;
        if (this.#chunkBytesLeft === 0) this.#frame = "chunk-end";
        continue;
      }
      if (
        this.#frame === "size" &&
        this.#excessBytes === 0 &&
        all[at + 1] === cr &&
        at + 20 < end
      ) {
        at = joiner.addTinyChunks(all, at);
      }
      const next = this.#takePlainLine(all, at);
      if (next > at) {
        at = next;
        continue;
      }
      const lineEnd = all.indexOf("\r\n", at, "latin1");
      if ((lineEnd < 0 ? end : lineEnd) - at > maxLineBytes) {
        throw this.#malformed("a line is too long");
      }
      if (lineEnd < 0) {
        // A copy: readers may release the memory of the chunks before the line.
        this.#pending = Buffer.from(all.subarray(at));
        at = end;
        break;
      }
      this.#takeLine(all.toString("latin1", at, lineEnd));
      at = lineEnd + 2;
    }
    joiner.flush();
    return at < end ? all.subarray(at) : noBytes;
  }

  /** The lines that most senders write: a size without extensions, or the line break after a chunk. Returns its end. */
  #takePlainLine(all: Buffer, at: number): number {
    if (this.#frame === "trailer") return at;
    let size = 0;
    let end = at;
    if (this.#frame === "size") {
      for (; end < at + 8 && end < all.length; end++) {
        const digit = hexDigits[all[end]!]!;
        if (digit > 15) break;
        size = size * 16 + digit;
      }
      if (end === at) return at;
    }
    if (all[end] !== cr || all[end + 1] !== lf) return at;
    if (end === at) this.#frame = "size";
    else this.#begin(size, end - at);
    return end + 2;
  }

  #begin(size: number, lineBytes: number): void {
    this.#chunkBytesLeft = size;
    this.#frame = size === 0 ? "trailer" : "bytes";
    const excess = this.#excessBytes + lineBytes - freeBytesPerChunk - 2 * size;
    this.#excessBytes = Math.max(excess, 0);
    if (excess > maxExcessBytes) throw this.#malformed("the framing is too large for the body");
  }

  #takeLine(line: string): void {
    if (this.#frame === "trailer") {
      if (!trailer.test(line)) throw this.#malformed("a trailer is malformed");
      this.done = line === "";
      this.#trailerBytes += line.length;
      if (this.#trailerBytes > maxLineBytes) throw this.#malformed("the trailers are too long");
    } else if (this.#frame === "chunk-end") {
      if (line !== "") throw this.#malformed("a chunk is longer than its size");
      this.#frame = "size";
    } else {
      const size = sizeLine.exec(line)?.[1];
      if (size === undefined) {
        throw this.#malformed(
          /^[0-9a-f]{1,8}[ \t]*;/i.test(line)
            ? "a chunk has a malformed extension (a control character or an unclosed quote)"
            : "a chunk has no valid size",
        );
      }
      this.#begin(Number.parseInt(size, 16), line.length);
    }
  }
}
