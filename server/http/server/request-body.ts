/** The body of one request, as it comes. Whoever reads it slows the caller down to his own pace. */
import { ChunkedDecoder } from "../../lib/chunked-decoder.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { type Framing, invalidHttp } from "./parse-head.ts";

/** So much may lie here before the caller has to wait. */
const enoughBytes = 256 * 1024;

/** What a piece takes up beside its bytes, about. */
const pieceBytes = 128;
/** Smaller ones are handed over together: each by itself would cost more than it holds. */
const crumbBytes = 1024;

const nothing = Buffer.alloc(0);

export interface BodyListener {
  /** There is more room, or less. */
  bufferChanged(): void;
  /** Somebody waits for the body: the caller, if it waits to be asked, may send it. */
  bodyRequested(): void;
}

export class RequestBody {
  /** All of it has come. */
  complete: boolean;
  readonly #flow: BodyListener;
  readonly #chunked: ChunkedDecoder | undefined;
  #left = 0;
  #pieces: Buffer[] = [];
  #held = 0;
  #discarding = false;
  #failure: unknown;
  #reader: PromiseWithResolvers<Buffer | undefined> | undefined;

  constructor(framing: Framing, flow: BodyListener) {
    this.#flow = flow;
    if (framing === "chunked") {
      this.#chunked = new ChunkedDecoder((why) => invalidHttp(`of its chunks, ${why}`));
    } else {
      this.#left = framing;
    }
    this.complete = framing === 0;
  }

  /** Bytes that are still to come, where the head said how many. */
  get remainingBytes(): number {
    return this.#left;
  }

  /** A reader waits for bytes that the client has not sent. */
  get isAwaited(): boolean {
    return this.#reader !== undefined && !this.complete && this.#failure === undefined;
  }

  get isFull(): boolean {
    return this.#held + this.#pieces.length * pieceBytes > enoughBytes;
  }

  /** Takes what came and returns what belongs to the next request. Throws where it cannot be told apart. */
  push(bytes: Buffer): Buffer {
    if (this.complete || bytes.length === 0) return bytes;
    // What comes after nonsense may look like the rest of a body, and is not.
    if (this.#failure !== undefined) return nothing;
    let rest: Buffer = nothing;
    if (this.#chunked) {
      const pieces: Buffer[] = [];
      rest = this.#chunked.push(bytes, (piece) => pieces.push(piece));
      this.complete = this.#chunked.done;
      for (const piece of pieces) this.#keep(rest.length > 0 ? Buffer.from(piece) : piece);
    } else if (bytes.length <= this.#left) {
      this.#left -= bytes.length;
      this.complete = this.#left === 0;
      this.#keep(bytes);
    } else {
      rest = bytes.subarray(this.#left);
      const last = Buffer.from(bytes.subarray(0, this.#left));
      this.#left = 0;
      this.complete = true;
      this.#keep(last);
    }
    if (this.complete) this.#hand();
    // What others follow is kept as a copy: readers may give back the memory of what they have read.
    return rest;
  }

  /** It will not come to its end. */
  fail(error: unknown): void {
    if (this.complete) return;
    this.#failure ??= error;
    this.#hand();
  }

  /** All that is here, if that is all there is. */
  whole(): Buffer | undefined {
    if (!this.complete) return undefined;
    const [first = nothing] = this.#pieces;
    const whole = this.#pieces.length > 1 ? Buffer.concat(this.#pieces) : first;
    const wasFull = this.isFull;
    this.#pieces = [];
    this.#held = 0;
    // A socket that is not read does not tell that the caller has left.
    if (wasFull) this.#flow.bufferChanged();
    return whole;
  }

  /** The next piece; undefined at the end. One reader, who waits for one piece at a time. */
  next(): Promise<Buffer | undefined> {
    this.#reader = Promise.withResolvers();
    const { promise } = this.#reader;
    if (!this.complete && this.#held === 0) this.#flow.bodyRequested();
    this.#hand();
    return promise;
  }

  /** Nobody wants what is still to come. */
  discard(): void {
    this.#discarding = true;
    this.#pieces = [];
    this.#held = 0;
    this.#flow.bufferChanged();
  }

  #keep(piece: Buffer): void {
    if (this.#discarding || piece.length === 0) return;
    this.#pieces.push(piece);
    this.#held += piece.length;
    this.#hand();
    if (this.isFull) this.#flow.bufferChanged();
  }

  #hand(): void {
    const reader = this.#reader;
    if (!reader) return;
    const wasFull = this.isFull;
    const piece = this.#shift();
    if (piece) {
      this.#held -= piece.length;
      if (wasFull) this.#flow.bufferChanged();
    } else if (this.#failure !== undefined) {
      this.#reader = undefined;
      reader.reject(this.#failure);
      return;
    } else if (!this.complete) return;
    this.#reader = undefined;
    reader.resolve(piece);
  }

  #shift(): Buffer | undefined {
    const count = this.#pieces.length;
    if (count < 2 || this.#held > count * crumbBytes) return this.#pieces.shift();
    return Buffer.concat(this.#pieces.splice(0));
  }
}

export const incompleteBody = (cause?: unknown): GatewayError =>
  new GatewayError("incomplete_body", "The body ended before it was complete.", { cause });
