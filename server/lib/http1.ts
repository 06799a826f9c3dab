/**
 * The syntax of HTTP/1.1 that the server and the client share: chunked transfer coding with its trailers, and the
 * values of headers.
 */

/** The longest line between two chunks, and the most bytes of trailers. */
const maxLineBytes = 16 * 1024;

/**
 * The most excess bytes of chunk framing, as in Go's net/http: a size line may have 16 bytes plus twice the length of
 * its chunk, and longer lines count as excess. Otherwise megabytes of chunk extensions could carry one byte of body.
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
  /** The frame that comes next. */
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
    const ranges: number[] = [];
    let at = 0;
    while (at < all.length && !this.done) {
      at = this.#frame === "bytes" ? this.#takeBytes(all, at, ranges) : this.#takeNextLine(all, at);
    }
    passOn(all, ranges, onChunk);
    return at < all.length ? all.subarray(at) : noBytes;
  }

  /** Returns the end of the bytes of the current chunk that have arrived. */
  #takeBytes(all: Buffer, at: number, ranges: number[]): number {
    const length = Math.min(this.#chunkBytesLeft, all.length - at);
    ranges.push(at, at + length);
    this.#chunkBytesLeft -= length;
    if (this.#chunkBytesLeft === 0) this.#frame = "chunk-end";
    return at + length;
  }

  /** Returns the end of the line, or of all bytes if the line has not completely arrived. */
  #takeNextLine(all: Buffer, at: number): number {
    const next = this.#takePlainLine(all, at);
    if (next > at) return next;
    const lineEnd = all.indexOf("\r\n", at, "latin1");
    if ((lineEnd < 0 ? all.length : lineEnd) - at > maxLineBytes) {
      throw this.#malformed("a line is too long");
    }
    if (lineEnd < 0) {
      // A copy: readers may release the memory of the chunks before the line.
      this.#pending = Buffer.from(all.subarray(at));
      return all.length;
    }
    this.#takeLine(all.toString("latin1", at, lineEnd));
    return lineEnd + 2;
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

/** Chunks of a smaller average size are joined: each by itself would cost more than its content. */
const smallChunkBytes = 512;
/** Up to this length, a loop takes less time than a call of `copy`. */
const maxLoopBytes = 16;

/** `ranges`: the start and the end of each chunk in `all`, one after the other. */
function passOn(all: Buffer, ranges: readonly number[], onChunk: (chunk: Buffer) => void): void {
  let length = 0;
  for (let i = 0; i < ranges.length; i += 2) length += ranges[i + 1]! - ranges[i]!;
  if (ranges.length > 2 && length < (ranges.length / 2) * smallChunkBytes) {
    onChunk(joined(all, ranges, length));
    return;
  }
  for (let i = 0; i < ranges.length; i += 2) onChunk(all.subarray(ranges[i], ranges[i + 1]));
}

function joined(all: Buffer, ranges: readonly number[], length: number): Buffer {
  const block = Buffer.allocUnsafeSlow(length);
  let filled = 0;
  for (let i = 0; i < ranges.length; i += 2) {
    const [from, to] = [ranges[i]!, ranges[i + 1]!];
    if (to - from > maxLoopBytes) filled += all.copy(block, filled, from, to);
    else for (let at = from; at < to; at++) block[filled++] = all[at]!;
  }
  return block;
}

const cr = 0x0d;
const lf = 0x0a;
/** The value of a hexadecimal digit by its code; 255 for any other byte. */
const hexDigits = new Uint8Array(256).fill(255);
for (const [value, digit] of [..."0123456789abcdef"].entries()) {
  hexDigits[digit.charCodeAt(0)] = value;
  hexDigits[digit.toUpperCase().charCodeAt(0)] = value;
}

/**
 * Removes optional whitespace (OWS, RFC 9110): spaces and tabs only. `trim` also removes `\xa0`, which other parsers
 * keep.
 */
export function trimOptionalWhitespace(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09;
