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
    const end = all.length;
    const joiner = new ChunkJoiner(onChunk);
    let at = 0;
    while (at < end && !this.done) {
      if (this.#frame === "bytes") {
        at = this.#takeBytes(all, at, joiner);
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
      at = this.#takeNextLine(all, at);
    }
    joiner.flush();
    return at < end ? all.subarray(at) : noBytes;
  }

  /** Returns the end of the bytes of the current chunk that have arrived. */
  #takeBytes(all: Buffer, at: number, joiner: ChunkJoiner): number {
    const length = Math.min(this.#chunkBytesLeft, all.length - at);
    joiner.add(all, at, length);
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

/**
 * Chunks up to this size are joined in blocks of up to the second size; a longer chunk is passed on without a copy.
 */
const maxJoinedBytes = 512;
const blockBytes = 16 * 1024;

/**
 * Passes on chunks in order: small chunks joined in blocks, others unchanged. Readers release a buffer when a chunk of
 * another buffer follows, so after a block was passed on, the chunks after it are copies too.
 */
class ChunkJoiner {
  readonly #onChunk: (chunk: Buffer) => void;
  /** A small chunk that no other small chunk follows yet. If none does, it is passed on without a copy. */
  #firstSmallChunk: Buffer | undefined;
  #block: Buffer = noBytes;
  #filled = 0;
  #hasCopied = false;

  constructor(onChunk: (chunk: Buffer) => void) {
    this.#onChunk = onChunk;
  }

  add(all: Buffer, at: number, length: number): void {
    const chunk = all.subarray(at, at + length);
    if (length > maxJoinedBytes) {
      this.flush();
      this.#onChunk(this.#hasCopied ? Buffer.from(chunk) : chunk);
    } else if (this.#filled === 0 && !this.#firstSmallChunk) {
      this.#firstSmallChunk = chunk;
    } else {
      this.#ensureCapacity(length, all.length - at);
      this.#block.set(chunk, this.#filled);
      this.#filled += length;
    }
  }

  /**
   * Joins consecutive whole chunks of up to 15 bytes, each with its framing. Returns the offset after the last of them.
   */
  addTinyChunks(all: Buffer, from: number): number {
    this.#ensureCapacity(15, all.length - from);
    const block = this.#block;
    // From `safeEnd` on, a chunk might be incomplete, or might not fit into the block. Fewer bytes are copied than
    // read.
    const safeEnd = Math.min(all.length - 19, from + block.length - this.#filled - 14);
    let filled = this.#filled;
    let at = from;
    while (at < safeEnd) {
      const size = hexDigits[all[at]!]!;
      const after = at + 3 + size;
      if (size === 0 || size > 15 || all[at + 1] !== cr || all[at + 2] !== lf) break;
      if (all[after] !== cr || all[after + 1] !== lf) break;
      for (let copied = at + 3; copied < after; copied++) block[filled++] = all[copied]!;
      at = after + 2;
    }
    this.#filled = filled;
    return at;
  }

  flush(): void {
    if (this.#firstSmallChunk)
      this.#onChunk(this.#hasCopied ? Buffer.from(this.#firstSmallChunk) : this.#firstSmallChunk);
    this.#firstSmallChunk = undefined;
    if (this.#filled === 0) return;
    this.#hasCopied = true;
    this.#onChunk(this.#block.subarray(0, this.#filled));
    this.#block = noBytes;
    this.#filled = 0;
  }

  /** Ensures that the block has space for `length` bytes. `rest`: how many bytes may still follow in this turn. */
  #ensureCapacity(length: number, rest: number): void {
    const first = this.#firstSmallChunk;
    const needed = length + (first?.length ?? 0);
    if (this.#filled + needed <= this.#block.length && !first) return;
    this.#firstSmallChunk = undefined;
    this.flush();
    this.#block = Buffer.allocUnsafeSlow(Math.max(needed, Math.min(needed + rest, blockBytes)));
    if (!first) return;
    this.#block.set(first);
    this.#filled = first.length;
  }
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
