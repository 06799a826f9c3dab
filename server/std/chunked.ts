/**
 * The frames of `transfer-encoding: chunked`, taken apart as they come. Strict where leniency would let one message run
 * into the next.
 */

/** No honest sender has a longer line between its chunks, or more after the last. */
const mostLineBytes = 16 * 1024;

/** Any other could be the end to one reader, and the next message to another. */
const trailer = /^(?:[!-9;-~]+:[\t\x20-\x7e\x80-\xff]*)?$/;

const nothing = Buffer.alloc(0);

export class Chunked {
  done = false;
  /** Not looked at yet: a line that has not come whole. */
  #pending: Buffer = nothing;
  /** Of the chunk that is coming. */
  #left = 0;
  /** In a chunk's bytes, between two of them, or in the lines after the last. */
  #frame: "size" | "bytes" | "line" | "trailer" = "size";
  #trailerBytes = 0;
  readonly #broken: (why: string) => Error;

  /** `broken`: what is thrown where these are no chunks. */
  constructor(broken: (why: string) => Error) {
    this.#broken = broken;
  }

  /** Hands on what is inside the chunks, and returns what comes after the last one. */
  push(bytes: Buffer, take: (piece: Buffer) => void): Buffer {
    let rest = this.#pending.length > 0 ? Buffer.concat([this.#pending, bytes]) : bytes;
    this.#pending = nothing;
    while (rest.length > 0 && !this.done) {
      if (this.#frame === "bytes") {
        const piece = rest.subarray(0, this.#left);
        this.#left -= piece.length;
        if (this.#left === 0) this.#frame = "line";
        rest = rest.subarray(piece.length);
        take(piece);
        continue;
      }
      const end = rest.indexOf("\r\n", 0, "latin1");
      if ((end < 0 ? rest.length : end) > mostLineBytes) throw this.#broken("a line is too long");
      if (end < 0) {
        // A copy: whoever took the pieces before it may give back the memory of all.
        this.#pending = Buffer.from(rest);
        return nothing;
      }
      this.#takeLine(rest.toString("latin1", 0, end));
      rest = rest.subarray(end + 2);
    }
    return rest;
  }

  #takeLine(line: string): void {
    if (this.#frame === "trailer") {
      if (!trailer.test(line)) throw this.#broken("what comes after the last is malformed");
      this.done = line === "";
      this.#trailerBytes += line.length;
      if (this.#trailerBytes > mostLineBytes) throw this.#broken("too much comes after the last");
    } else if (this.#frame === "line") {
      if (line !== "") throw this.#broken("one is longer than it says");
      this.#frame = "size";
    } else {
      const size = /^([0-9a-f]{1,8})[ \t]*(?:;.*)?$/i.exec(line)?.[1];
      if (size === undefined) throw this.#broken("one has no size");
      this.#left = Number.parseInt(size, 16);
      this.#frame = this.#left === 0 ? "trailer" : "bytes";
    }
  }
}
