/** A client's connection: reads HTTP/1.1 requests one after the other, and writes each response before it reads the next. */

import { GatewayError } from "../../lib/gateway-error.ts";
import { ignoreRejection } from "../../lib/ignore-rejection.ts";
import type { OutgoingResponse } from "../../request/http-types.ts";
import type { Holder } from "./connection-holders.ts";
import { ConnectionPhase } from "./connection-phase.ts";
import { HalfClose } from "./half-close.ts";
import { HeadReader } from "./head-reader.ts";
import { Http2Unsupported, http2HeadersMs, http2Response, isWholePreface } from "./http2.ts";
import type { RequestHead } from "./parse-head.ts";
import { ReadFlow } from "./read-flow.ts";
import { connectionHeader, HttpRequest } from "./request.ts";
import { incompleteBody } from "./request-body.ts";
import { closingResponse } from "./response-head.ts";
import { discardBody, sendResponse } from "./send-response.ts";
import type { ServerContext } from "./server-context.ts";
import { ClientDisconnected, SocketWriter } from "./socket-writer.ts";

export type Socket = Bun.Socket<Connection>;

const noBytes = Buffer.alloc(0);
/** How much of pipelined requests is buffered while one is being handled. */
const maxPipelinedBytes = 64 * 1024;
/** Pipelined requests that are read in one turn of the event loop. */
const maxPipelinedPerTurn = 32;
const continueResponse = "HTTP/1.1 100 Continue\r\n\r\n";

export class Connection {
  readonly #server: ServerContext;
  readonly #socket: Socket;
  readonly #writer: SocketWriter;
  readonly #headReader = new HeadReader();
  readonly #phase: ConnectionPhase;
  /** Bytes of the next request head, or of pipelined requests. */
  #unparsed: Buffer = noBytes;
  #request: HttpRequest | undefined;
  /** The response to the current request has begun: `100 Continue` must not be written any more. */
  #isResponding = false;
  readonly #halfClose = new HalfClose();
  readonly #flow: ReadFlow;
  /** Pipelined requests so far. */
  #pipelined = 0;
  /**
   * The connection exceeds the maximum number of connections: only probes are served, unless its request is admitted.
   */
  #isSurplus = false;
  /** Checks since the connection became a surplus connection. */
  #surplusChecks = 0;
  /** A request head has arrived on this connection. */
  #hasRequested = false;

  constructor(socket: Socket, server: ServerContext) {
    this.#socket = socket;
    this.#server = server;
    this.#writer = new SocketWriter(socket);
    this.#flow = new ReadFlow(socket);
    this.#phase = new ConnectionPhase(server);
  }

  /** Bytes of responses that the client has not read. */
  get unsentBytes(): number {
    return this.#writer.unsentBytes;
  }

  /** When bytes last moved. */
  get lastActivityAt(): number {
    return this.#phase.lastActivityAt;
  }

  get isBusy(): boolean {
    return this.#phase.state === "busy";
  }

  get isIdle(): boolean {
    return this.#phase.state === "idle";
  }

  /** A request waits for bytes of its body that the client has not sent. */
  get isAwaitingBody(): boolean {
    return this.isBusy && this.#request?.body.isAwaited === true;
  }

  /**
   * The server waits for the client: for a request head, the rest of a body, or the client's close. False for a
   * keep-alive connection between two requests.
   */
  get isAwaitingClient(): boolean {
    const { state } = this.#phase;
    if (state === "idle") return !this.#hasRequested || this.#unparsed.length > 0;
    return this.isAwaitingBody || state === "discarding" || state === "lingering";
  }

  get holder(): Holder {
    return this.#holderOf(this.#request?.head);
  }

  #holderOf(head: RequestHead | undefined): Holder {
    const keyId = head && this.#server.keyIdOf(head);
    return keyId === undefined ? `address ${this.#socket.remoteAddress}` : `key ${keyId}`;
  }

  /** Marks the connection as one beyond the maximum number of connections. */
  becomeSurplus(): void {
    this.#isSurplus = true;
  }

  /**
   * Closes the connection to make room. A surplus connection whose request head has not arrived gets a refusal first.
   */
  drop(): void {
    if (this.#isSurplus && this.isIdle) this.refuse(this.#server.refuseConnection());
    this.end();
  }

  /** Ends a request whose body does not arrive, with an error response. */
  abandonBody(): void {
    const request = this.#request;
    if (!request) return;
    request.isLast = true;
    request.body.fail(bodyNotReceived());
  }

  /** The socket has read bytes. */
  receive(bytes: Buffer): void {
    this.#flow.countRead(bytes.length);
    if (this.#phase.state === "idle") {
      this.#readHead(this.#unparsed.length > 0 ? Buffer.concat([this.#unparsed, bytes]) : bytes);
    } else if (this.#phase.state === "busy") {
      // Received bytes do not extend the timeout of a client that does not read its response.
      if (!this.#writer.isBlocked) this.#phase.touch();
      if (this.#request) this.#feed(this.#request, bytes);
    } else {
      this.#discard(bytes);
    }
  }

  /** The socket accepts more bytes. */
  onDrain(): void {
    this.#phase.touch();
    this.#writer.onDrain();
  }

  /** The client has sent FIN. */
  onInputEnd(): void {
    this.#halfClose.onFin(this.#isResponding);
    this.#flow.end();
    const request = this.#request;
    const isHttp10 = request?.head.supportsChunked === false;
    if (!this.isBusy || (isHttp10 && !this.#isResponding)) this.end();
    if (!this.isBusy || !request) return;
    if (!request.body.complete) {
      request.isLast = true;
      request.body.fail(incompleteBody());
    }
    if (!this.#writer.isBlocked) this.writeContinue();
  }

  /** The socket is closed. */
  onClose(): void {
    if (this.#phase.state === "closed") return;
    this.#phase.state = "closed";
    this.#flow.end();
    const request = this.#request;
    this.#request = undefined;
    request?.clientDisconnected();
    this.#writer.close();
  }

  /** Called about once a second. */
  checkTimeouts(): void {
    const { now, timeouts } = this.#server;
    if (this.isIdle) {
      const idleMs = now - this.lastActivityAt;
      if (idleMs > timeouts.headCacheMs) this.#headReader.clearCache();
      if (idleMs > http2HeadersMs && isWholePreface(this.#unparsed)) {
        this.#refuseHead(new Http2Unsupported(0));
      }
    }
    if (this.isBusy && this.#isResponding && this.#halfClose.isDisconnected(this.#writer)) {
      this.reset();
    }
    // Checks are a second apart: at the second check the head has had at least a second to arrive.
    if (this.#isSurplus && this.isIdle && ++this.#surplusChecks > 1) {
      this.refuse(this.#server.refuseConnection());
      return;
    }
    const action = this.#phase.timedOut(this.#unparsed.length > 0, this.#writer.isBlocked);
    if (action) this[action]();
  }

  /** Closes with RST: the client notices that a response is incomplete. */
  reset(): void {
    if (this.#phase.state === "closed") return;
    this.#socket.terminate();
    this.onClose();
  }

  /** Closes. Bytes that the socket has accepted are still sent. */
  end(): void {
    if (this.#phase.state === "closed") return;
    this.#socket.end();
    this.onClose();
  }

  #readHead(bytes: Buffer): void {
    let head: RequestHead | undefined;
    try {
      head = this.#headReader.read(bytes);
    } catch (error) {
      this.#refuseHead(error as GatewayError);
      return;
    }
    if (head) this.#startRequest(head, bytes, this.#headReader.bodyStart);
    else if (this.#halfClose.ended) this.end();
    else {
      if (this.#unparsed.length === 0) this.#phase.touch();
      this.#unparsed = bytes;
    }
  }

  #refuseHead(error: GatewayError): void {
    const refusal = this.#server.refuse(error);
    if (error instanceof Http2Unsupported) this.#writeLast(http2Response(refusal, error.stream));
    else this.refuse(refusal);
  }

  /** `bodyStart`: where the body begins in `bytes`. */
  #startRequest(head: RequestHead, bytes: Buffer, bodyStart: number): void {
    this.#hasRequested = true;
    const isProbe = this.#isSurplus && this.#server.isProbe(head.path);
    if (this.#isSurplus && !isProbe) {
      if (!this.#server.limit.admit(this, this.#holderOf(head))) {
        this.refuse(this.#server.refuseConnection());
        return;
      }
      this.#isSurplus = false;
    }
    const request = new HttpRequest(head, this);
    if (isProbe) request.isLast = true;
    this.#unparsed = noBytes;
    this.#request = request;
    this.#server.limit.requestBegan(this);
    this.#isResponding = false;
    this.#phase.enter("busy");
    if (bytes.length > bodyStart) this.#feed(request, bytes.subarray(bodyStart));
    if (this.#halfClose.ended) request.body.fail(incompleteBody());
    this.#server
      .handle(request)
      .then((response) => this.#respond(request, response), this.#onError);
  }

  #feed(request: HttpRequest, bytes: Buffer): void {
    let rest: Buffer = noBytes;
    try {
      rest = request.body.push(bytes);
    } catch (error) {
      // The end of the body is unknown now, and so is the start of the next request.
      request.isLast = true;
      request.body.fail(error);
    }
    if (rest.length === 0 || request.isLast) return;
    this.#unparsed = this.#unparsed.length > 0 ? Buffer.concat([this.#unparsed, rest]) : rest;
    this.updateFlow();
  }

  /** Discards bytes that are not needed. Their number and time are bounded, so that no client can keep the gateway busy with them. */
  #discard(bytes: Buffer): void {
    if (this.#phase.state === "closed") return;
    const isTooMuch = this.#phase.countDiscarded(bytes.length);
    if (this.#phase.state === "lingering") {
      if (isTooMuch) this.end();
      return;
    }
    const request = this.#request as HttpRequest;
    this.#feed(request, bytes);
    if (request.body.complete) this.#nextRequest();
    else if (request.isLast || isTooMuch) this.linger();
  }

  /** Pauses or resumes the socket, by how much is buffered. */
  updateFlow(): void {
    const isPipelineFull = this.#unparsed.length > maxPipelinedBytes;
    this.#flow.setFull(isPipelineFull || this.#request?.body.isFull === true);
  }

  /** An interim response: the client may send the body that it has announced (`expect: 100-continue`). */
  writeContinue(): void {
    if (!this.#isResponding) ignoreRejection(this.#writer.write(continueResponse));
  }

  #respond(request: HttpRequest, response: OutgoingResponse): void {
    if (this.#request !== request) {
      discardBody(response).catch(this.#server.onError);
      return;
    }
    let sending: Promise<void> | undefined;
    try {
      this.#isResponding = true;
      if (this.#server.isStopping || (this.#halfClose.ended && this.#unparsed.length === 0)) {
        request.isLast = true;
      }
      const headerLines = connectionHeader(request, response) + this.#server.dateHeader;
      sending = sendResponse(response, request.head, headerLines, this.#writer);
    } catch (error) {
      discardBody(response).catch(this.#server.onError);
      this.#onError(error);
      return;
    }
    if (sending) sending.then(() => this.#responseSent(request)).catch(this.#onError);
    else this.#responseSent(request);
  }

  /** The response has been written to its last byte. */
  #responseSent(request: HttpRequest): void {
    if (this.#request !== request) return;
    try {
      if (request.isLast) {
        this.linger();
      } else if (request.body.complete) {
        this.#nextRequest();
      } else {
        this.#phase.enter("discarding");
        request.body.discard();
      }
    } catch (error) {
      this.#onError(error);
    }
  }

  /** An incomplete response cannot be repaired: the client sees a reset. */
  readonly #onError = (error: unknown): void => {
    if (!(error instanceof ClientDisconnected)) this.#server.onError(error);
    this.reset();
  };

  #nextRequest(): void {
    this.#request = undefined;
    this.#phase.enter("idle");
    if (this.#unparsed.length === 0) {
      if (this.#halfClose.ended) this.end();
      else if (this.#server.isStopping) this.linger();
      else this.updateFlow();
    } else if (++this.#pipelined % maxPipelinedPerTurn > 0) this.#readPipelined();
    // In another turn of the event loop: a client that pipelines thousands of requests must not delay other clients.
    else setImmediate(this.#readPipelined);
  }

  readonly #readPipelined = (): void => {
    const pipelined = this.#unparsed;
    if (this.#phase.state !== "idle" || pipelined.length === 0) return;
    this.#unparsed = noBytes;
    try {
      this.#readHead(pipelined);
    } catch (error) {
      this.#onError(error);
    }
    this.updateFlow();
  };

  /** Writes a response and closes the connection, whatever the client has sent. */
  refuse(response: OutgoingResponse): void {
    this.#writeLast(closingResponse(response, this.#server.dateHeader));
  }

  #writeLast(response: string | Uint8Array): void {
    const sending = this.#writer.write(response);
    this.#phase.enter("busy");
    if (sending) sending.then(() => this.linger()).catch(this.#onError);
    else this.linger();
  }

  /** Lingering close: sends FIN and discards what arrives. A full close while the client sends would reset the connection, and lose the response. */
  linger(): void {
    if (this.#phase.state === "closed") return;
    this.#request = undefined;
    this.#unparsed = noBytes;
    this.#phase.enter("lingering");
    if (this.#halfClose.ended) {
      this.end();
      return;
    }
    this.updateFlow();
    this.#socket.shutdown();
  }
}

const bodyNotReceived = (): GatewayError =>
  new GatewayError(
    "request_timeout",
    "The request body did not arrive in time: the gateway has reached its maximum number of connections and closed this one for another client. Send the whole body without pauses, and retry.",
  );
