/** Reads a response body from its connection, with a content-length or with chunked transfer encoding. */

export interface ResponseBodyListener {
  /** Gets each part of the body, and its offset. */
  readonly onBytes: (part: Buffer, at: number) => void;
}

export class BodyReader {
  readonly #onBytes: ResponseBodyListener["onBytes"];
  readonly #chunked: boolean;
  /** Remaining bytes of the body, or of the current chunk. */
  #remaining: number;
  /** The incomplete line between two chunks; undefined within a chunk. */
  #line: string | undefined;
  length = 0;
  done: boolean;

  constructor(head: string, { onBytes }: ResponseBodyListener) {
    this.#onBytes = onBytes;
    this.#chunked = /^transfer-encoding: *chunked/im.test(head);
    this.#remaining = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
    this.#line = this.#chunked ? "" : undefined;
    this.done = !this.#chunked && this.#remaining === 0;
  }

  push(bytes: Buffer): void {
    for (let at = 0; at < bytes.length && !this.done; ) {
      if (this.#line !== undefined) {
        const end = bytes.indexOf("\n", at);
        const until = end < 0 ? bytes.length : end + 1;
        this.#line += bytes.toString("latin1", at, until);
        at = until;
        if (end >= 0) this.#endLine(this.#line.trim());
      } else {
        const part = bytes.subarray(at, at + this.#remaining);
        this.#onBytes(part, this.length);
        this.length += part.length;
        this.#remaining -= part.length;
        at += part.length;
        if (this.#remaining === 0 && this.#chunked) this.#line = "";
        else this.done = this.#remaining === 0;
      }
    }
  }

  /** The line after a chunk is empty; otherwise it is the length of the next chunk, and 0 after the last. */
  #endLine(line: string): void {
    this.#line = "";
    if (line === "") return;
    this.#remaining = Number.parseInt(line, 16);
    if (Number.isNaN(this.#remaining)) throw new Error(`not a chunk length: ${line}`);
    if (this.#remaining > 0) this.#line = undefined;
    else this.done = true;
  }
}
