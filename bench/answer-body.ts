/** The body of an answer out of what comes over its connection, whether it has a length or comes in chunks. */

export interface AnswerBody {
  /** Told each piece, and where in the body it belongs. */
  readonly onPiece: (piece: Buffer, at: number) => void;
}

export class BodyReader {
  readonly #onPiece: AnswerBody["onPiece"];
  readonly #chunked: boolean;
  /** Of the body, or of the chunk that is being read. */
  #left: number;
  /** A line between chunks, as far as it has come; undefined within a chunk. */
  #line: string | undefined;
  length = 0;
  done: boolean;

  constructor(head: string, { onPiece }: AnswerBody) {
    this.#onPiece = onPiece;
    this.#chunked = /^transfer-encoding: *chunked/im.test(head);
    this.#left = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
    this.#line = this.#chunked ? "" : undefined;
    this.done = !this.#chunked && this.#left === 0;
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
        const piece = bytes.subarray(at, at + this.#left);
        this.#onPiece(piece, this.length);
        this.length += piece.length;
        this.#left -= piece.length;
        at += piece.length;
        if (this.#left === 0 && this.#chunked) this.#line = "";
        else this.done = this.#left === 0;
      }
    }
  }

  /** Empty behind each chunk; otherwise the length of the next, and 0 for the last. */
  #endLine(line: string): void {
    this.#line = "";
    if (line === "") return;
    this.#left = Number.parseInt(line, 16);
    if (Number.isNaN(this.#left)) throw new Error(`not the length of a chunk: ${line}`);
    if (this.#left > 0) this.#line = undefined;
    else this.done = true;
  }
}
