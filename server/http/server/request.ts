/** An HTTP request, from the arrival of its head to the last byte of its response. */
import type { OutgoingResponse } from "../../request/http-types.ts";
import { maxDiscardedBytes } from "./connection-phase.ts";
import type { ServerRequest } from "./http-server.ts";
import type { RequestHead } from "./parse-head.ts";
import { type BodyListener, RequestBody } from "./request-body.ts";
import { ClientDisconnected } from "./socket-writer.ts";

/** The functions of a connection that its request calls. */
export interface RequestConnection {
  /** Pauses or resumes reading from the socket (backpressure). */
  updateFlow(): void;
  writeContinue(): void;
  readonly remoteAddress: string;
}

export class HttpRequest implements ServerRequest, BodyListener {
  readonly head: RequestHead;
  readonly body: RequestBody;
  readonly #connection: RequestConnection;
  /** The connection is closed after its response. */
  isLast: boolean;
  /** The client sends the body only after a `100 Continue`, which has not been sent. */
  awaitsContinue: boolean;
  #disconnect: AbortController | undefined;
  #disconnectListener: (() => void) | undefined;
  #isDisconnected = false;

  constructor(head: RequestHead, connection: RequestConnection) {
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

  setDisconnectListener(listener: (() => void) | undefined): void {
    this.#disconnectListener = listener;
    if (this.#isDisconnected) listener?.();
  }

  get remoteAddress(): string {
    return this.#connection.remoteAddress;
  }

  clientDisconnected(): void {
    this.#isDisconnected = true;
    this.body.fail(new ClientDisconnected());
    this.#disconnect?.abort();
    this.#disconnectListener?.();
  }

  bufferChanged(): void {
    this.#connection.updateFlow();
  }

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
  { supportsChunked }: RequestHead,
): boolean =>
  !supportsChunked && typeof body === "object" && !("length" in body) && !(body instanceof Blob);
