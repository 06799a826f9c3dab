/**
 * An HTTP request, from the arrival of its head to the last byte of its response, and its body, which is read with
 * backpressure, after a `100 Continue` if the client waits for it.
 */

import { ChunkedDecoder } from "../../lib/http1.ts";
import type { DisconnectListener } from "../../request/deadline.ts";
import type { OutgoingResponse } from "../../request/http-types.ts";
import { maxDiscardedBytes } from "./client-socket.ts";
import type { RequestBody as BodyReader, ServerRequest } from "./http-server.ts";
import type { Framing, ParsedHead } from "./parse-head.ts";
import { invalidHttp } from "./refuse-client.ts";
import { ClientDisconnected } from "./socket-writer.ts";

/** The functions of a connection that its request calls. */
export interface RequestConnection {
  /** Pauses or resumes reading from the socket (backpressure). */
  updateFlow(): void;
  writeContinue(): void;
  readonly remoteAddress: string;
}

export class HttpRequest implements ServerRequest {
  readonly head: ParsedHead;
  readonly body: RequestBody;
  readonly #connection: RequestConnection;
  /** The connection is closed after the response to this request. */
  isLast: boolean;
  /** The client sends the body only after a `100 Continue`, which has not been sent. */
  awaitsContinue: boolean;
  #disconnect: AbortController | undefined;
  #disconnectListener: DisconnectListener | undefined;
  #isDisconnected = false;

  constructor(head: ParsedHead, connection: RequestConnection) {
    this.head = head;
    this.#connection = connection;
    this.body = new RequestBody(head.framing, this);
    this.isLast = !head.isKeepAlive;
    this.awaitsContinue = head.expectsContinue && !this.body.complete;
  }

  /** Aborted when the client disconnects. Created on first use: most requests end before anything needs it. */
  get signal(): AbortSignal {
    if (!this.#disconnect) {
      this.#disconnect = new AbortController();
      if (this.#isDisconnected) this.#disconnect.abort();
    }
    return this.#disconnect.signal;
  }

  setDisconnectListener(listener: DisconnectListener | undefined): void {
    this.#disconnectListener = listener;
    if (this.#isDisconnected) listener?.onDisconnect();
  }

  get remoteAddress(): string {
    return this.#connection.remoteAddress;
  }

  clientDisconnected(): void {
    this.#isDisconnected = true;
    this.body.fail(new ClientDisconnected());
    this.#disconnect?.abort();
    this.#disconnectListener?.onDisconnect();
  }

  /** The buffer of the body has become full, or has space again. */
  bufferChanged(): void {
    this.#connection.updateFlow();
  }

  /** A reader waits for the body: a client that waits for `100 Continue` may send it. */
  bodyRequested(): void {
    if (!this.awaitsContinue) return;
    this.awaitsContinue = false;
    this.#connection.writeContinue();
  }
}

/** The `connection` header line of the response. Also decides whether the connection is closed after it. */
export function connectionHeader(
  request: HttpRequest,
  { headers, body }: OutgoingResponse,
): string {
  const { head, awaitsContinue } = request;
  // A client that waits for `100 Continue` may or may not send its body after a final response.
  const mayHaveBody = awaitsContinue && !request.body.complete;
  const isLong = request.body.remainingBytes > maxDiscardedBytes;
  if (headers.connection === "close" || mayHaveBody || isLong || endsWithConnection(body, head)) {
    request.isLast = true;
  }
  if (request.isLast) return headers.connection ? "" : "connection: close\r\n";
  return head.supportsChunked ? "" : "connection: keep-alive\r\n";
}

/** In HTTP/1.0, a body without a length ends when the connection is closed. */
const endsWithConnection = (
  body: OutgoingResponse["body"],
  { supportsChunked }: ParsedHead,
): boolean => !supportsChunked && typeof body === "object" && !("length" in body);

/** When more is buffered, the socket is paused. */
const maxBufferedBytes = 256 * 1024;

/** Approximate memory that a chunk takes besides its bytes. */
const chunkOverheadBytes = 128;
/**
 * Chunks of a smaller average size are joined before they are delivered: each by itself would cost more than its
 * content.
 */
const smallChunkBytes = 1024;

const noBytes = Buffer.alloc(0);

/** The body of a request, as it arrives, with backpressure: the client sends no faster than the reader reads. */
class RequestBody implements BodyReader {
  /** The whole body has arrived. */
  complete: boolean;
  readonly #request: HttpRequest;
  readonly #decoder: ChunkedDecoder | undefined;
  #remaining = 0;
  #chunks: Buffer[] = [];
  #bufferedBytes = 0;
  #discarding = false;
  #failure: unknown;
  #reader: PromiseWithResolvers<Buffer | undefined> | undefined;

  constructor(framing: Framing, request: HttpRequest) {
    this.#request = request;
    if (framing === "chunked") {
      this.#decoder = new ChunkedDecoder((reason) =>
        invalidHttp(`the chunked body is malformed: ${reason}`),
      );
    } else {
      this.#remaining = framing;
    }
    this.complete = framing === 0;
  }

  /** Bytes that have not arrived, where the head has a content-length. */
  get remainingBytes(): number {
    return this.#remaining;
  }

  get isFull(): boolean {
    return this.#bufferedBytes + this.#chunks.length * chunkOverheadBytes > maxBufferedBytes;
  }

  /**
   * Takes bytes of the connection, and returns the bytes of the next request. Throws if the end of the body cannot be
   * found.
   */
  push(bytes: Buffer): Buffer {
    if (this.complete || bytes.length === 0) return bytes;
    // After an invalid chunk, later bytes must not be read as the rest of the body.
    if (this.#failure !== undefined) return noBytes;
    let rest: Buffer = noBytes;
    if (this.#decoder) {
      const chunks: Buffer[] = [];
      rest = this.#decoder.push(bytes, (chunk) => chunks.push(chunk));
      this.complete = this.#decoder.done;
      // Readers may free the memory of chunks they have read, which `rest` shares: hence copies, here and below.
      for (const chunk of chunks) this.#buffer(rest.length > 0 ? Buffer.from(chunk) : chunk);
    } else if (bytes.length <= this.#remaining) {
      this.#remaining -= bytes.length;
      this.complete = this.#remaining === 0;
      this.#buffer(bytes);
    } else {
      rest = bytes.subarray(this.#remaining);
      const last = Buffer.from(bytes.subarray(0, this.#remaining));
      this.#remaining = 0;
      this.complete = true;
      this.#buffer(last);
    }
    if (this.complete) this.#deliver();
    return rest;
  }

  /** The body will not arrive whole. */
  fail(error: unknown): void {
    if (this.complete) return;
    this.#failure ??= error;
    this.#deliver();
  }

  /** The whole body, if it has arrived. */
  whole(): Buffer | undefined {
    if (!this.complete) return undefined;
    const [first = noBytes] = this.#chunks;
    const whole = this.#chunks.length > 1 ? Buffer.concat(this.#chunks) : first;
    const wasFull = this.isFull;
    this.#chunks = [];
    this.#bufferedBytes = 0;
    // A paused socket does not report that the client has disconnected.
    if (wasFull) this.#request.bufferChanged();
    return whole;
  }

  /** The next chunk; undefined at the end. There is one reader, and it waits for one chunk at a time. */
  next(): Promise<Buffer | undefined> {
    this.#reader = Promise.withResolvers();
    const { promise } = this.#reader;
    if (!this.complete && this.#bufferedBytes === 0) this.#request.bodyRequested();
    this.#deliver();
    return promise;
  }

  /** The rest of the body is not needed. */
  discard(): void {
    this.#discarding = true;
    this.#chunks = [];
    this.#bufferedBytes = 0;
    this.#request.bufferChanged();
  }

  #buffer(chunk: Buffer): void {
    if (this.#discarding || chunk.length === 0) return;
    this.#chunks.push(chunk);
    this.#bufferedBytes += chunk.length;
    this.#deliver();
    if (this.isFull) this.#request.bufferChanged();
  }

  #deliver(): void {
    const reader = this.#reader;
    if (!reader) return;
    const wasFull = this.isFull;
    const chunk = this.#shift();
    if (chunk) {
      this.#bufferedBytes -= chunk.length;
      if (wasFull) this.#request.bufferChanged();
    } else if (this.#failure !== undefined) {
      this.#reader = undefined;
      reader.reject(this.#failure);
      return;
    } else if (!this.complete) return;
    this.#reader = undefined;
    reader.resolve(chunk);
  }

  #shift(): Buffer | undefined {
    const count = this.#chunks.length;
    if (count < 2 || this.#bufferedBytes > count * smallChunkBytes) return this.#chunks.shift();
    return Buffer.concat(this.#chunks.splice(0));
  }
}
