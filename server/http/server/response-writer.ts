/** Writes the bytes of responses, and counts those that the socket has accepted. */
import type { BufferedResponse } from "./write-buffer.ts";

export interface ResponseWriter {
  /** Bytes that the socket has accepted, of all responses. */
  readonly sentBytes: number;
  /** Bytes that it has not accepted yet. */
  readonly unsentBytes: number;
  /** Bytes in memory that follow them in the same response, and are written when they are sent. */
  heldBytes: number;
  /** Undefined where the socket has accepted all bytes already. Rejects when the client disconnects. */
  write(data: string | Uint8Array): Promise<void> | undefined;
  /** Like `write`, for a response in the write buffer. */
  writeBuffered(data: BufferedResponse): Promise<void> | undefined;
  /** Calls back when the client disconnects; immediately, if it has. */
  onDisconnect(callback: () => void): void;
}

/** Compares the bytes that one response has written so far with those that the socket accepted. */
export class SentCount {
  readonly #writer: ResponseWriter;
  #expected: number;

  constructor(writer: ResponseWriter) {
    this.#writer = writer;
    this.#expected = writer.sentBytes + writer.unsentBytes;
  }

  write(data: string | Uint8Array): Promise<void> | undefined {
    this.#expected += Buffer.byteLength(data);
    return this.#writer.write(data);
  }

  /**
   * Called when nothing is unsent. Throws when bytes are missing: a buffer was released before the socket had accepted
   * it.
   */
  check(): void {
    const { sentBytes } = this.#writer;
    if (sentBytes === this.#expected) return;
    const difference = sentBytes - this.#expected;
    throw new Error(
      `The bytes of a response do not add up: ${difference} compared with what was announced.`,
    );
  }
}

/**
 * The body length differs from the announced length: the client would read the start of the next response as the rest
 * of this one, or the rest of this one as the next response.
 */
export const lengthMismatch = (length: number, announced: number): Error =>
  new Error(`A response body announced with ${announced} bytes has ${length}.`);
