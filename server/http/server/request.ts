/** A request, from the moment its head has come until its answer has left. */
import type { OutgoingResponse } from "../../request/http-types.ts";
import type { Connection } from "./connection.ts";
import { maxDiscardedBytes } from "./connection-phase.ts";
import type { RequestHead } from "./parse-head.ts";
import { type BodyListener, RequestBody } from "./request-body.ts";
import { ClientDisconnected } from "./socket-writer.ts";

export class HttpRequest implements BodyListener {
  readonly head: RequestHead;
  readonly body: RequestBody;
  readonly #connection: Connection;
  /** No other request comes on this connection. */
  isLast: boolean;
  /** The caller waits to be asked for the body. */
  awaitsContinue: boolean;
  #leaving: AbortController | undefined;
  #hasLeft = false;

  constructor(head: RequestHead, connection: Connection) {
    this.head = head;
    this.#connection = connection;
    this.body = new RequestBody(head.framing, this);
    this.isLast = !head.isKeepAlive;
    this.awaitsContinue = head.expectsContinue && !this.body.complete;
  }

  /** Aborted when the caller hangs up. Made for those who look at it: most calls are over before anyone does. */
  get signal(): AbortSignal {
    if (!this.#leaving) {
      this.#leaving = new AbortController();
      if (this.#hasLeft) this.#leaving.abort();
    }
    return this.#leaving.signal;
  }

  /** The caller has hung up. */
  clientDisconnected(): void {
    this.#hasLeft = true;
    this.body.fail(new ClientDisconnected());
    this.#leaving?.abort();
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

/** A line for the head of the response. Also decides whether this is the last response of the connection. */
export function connectionHeader(
  exchange: HttpRequest,
  { headers, body }: OutgoingResponse,
): string {
  const { head, body: content, awaitsContinue: unasked } = exchange;
  // A client that waits to be asked for a body may or may not send it now.
  const isUnclear = unasked && !content.complete;
  const isLong = content.remainingBytes > maxDiscardedBytes;
  if (headers.connection === "close" || isUnclear || isLong || isUntold(body, head)) {
    exchange.isLast = true;
  }
  if (exchange.isLast) return headers.connection ? "" : "connection: close\r\n";
  return head.supportsChunked ? "" : "connection: keep-alive\r\n";
}

/** To HTTP/1.0, the end of a body without a length is the end of the connection. */
const isUntold = (
  body: OutgoingResponse["body"],
  { supportsChunked: knowsChunks }: RequestHead,
): boolean =>
  !knowsChunks && typeof body === "object" && !("length" in body) && !(body instanceof Blob);
