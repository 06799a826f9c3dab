/** A request, from the moment its head has come until its answer has left. */
import type { Outgoing } from "../../request/http-types.ts";
import type { Connection } from "./connection.ts";
import { mostUnreadBytes } from "./connection-phase.ts";
import type { RequestHead } from "./parse-head.ts";
import { Content, type Flow } from "./request-body.ts";
import { CallerLeft } from "./socket-writer.ts";

export class Exchange implements Flow {
  readonly head: RequestHead;
  readonly content: Content;
  readonly #connection: Connection;
  /** No other request comes on this connection. */
  isLast: boolean;
  /** The caller waits to be asked for the body. */
  unasked: boolean;
  #leaving: AbortController | undefined;
  #hasLeft = false;

  constructor(head: RequestHead, connection: Connection) {
    this.head = head;
    this.#connection = connection;
    this.content = new Content(head.framing, this);
    this.isLast = !head.staysOpen;
    this.unasked = head.awaitsContinue && !this.content.complete;
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
  leave(): void {
    this.#hasLeft = true;
    this.content.fail(new CallerLeft());
    this.#leaving?.abort();
  }

  changed(): void {
    this.#connection.flow();
  }

  wanted(): void {
    if (!this.unasked) return;
    this.unasked = false;
    this.#connection.writeContinue();
  }
}

/** A line for the head of the response. Also decides whether this is the last response of the connection. */
export function connectionLine(exchange: Exchange, { headers, body }: Outgoing): string {
  const { head, content, unasked } = exchange;
  // A client that waits to be asked for a body may or may not send it now.
  const isUnclear = unasked && !content.complete;
  const isLong = content.knownRest > mostUnreadBytes;
  if (headers.connection === "close" || isUnclear || isLong || isUntold(body, head)) {
    exchange.isLast = true;
  }
  if (exchange.isLast) return headers.connection ? "" : "connection: close\r\n";
  return head.knowsChunks ? "" : "connection: keep-alive\r\n";
}

/** To HTTP/1.0, the end of a body without a length is the end of the connection. */
const isUntold = (body: Outgoing["body"], { knowsChunks }: RequestHead): boolean =>
  !knowsChunks && typeof body === "object" && !("length" in body) && !(body instanceof Blob);
