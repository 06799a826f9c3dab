/**
 * A client's connection: reads HTTP/1.1 requests one after the other, and writes each response before it reads the
 * next, also if the client sends them at once (pipelining).
 */
import type { GatewayError } from "../../lib/gateway-error.ts";
import { ignoreRejection } from "../../lib/tasks.ts";
import type { OutgoingResponse } from "../../request/http-types.ts";
import { type ByteSocket, ClientSocket, ConnectionPhase } from "./client-socket.ts";
import type { LimitedConnection } from "./connection-limit.ts";
import { incompleteBody } from "./http-server.ts";
import { HeadReader, type ParsedHead } from "./parse-head.ts";
import { type RefusedConnection, refuseConnection, refuseHead } from "./refuse-client.ts";
import { connectionHeader, HttpRequest, type RequestConnection } from "./request.ts";
import { discardBody, sendResponse } from "./send-response.ts";
import type { ServerContext } from "./server-context.ts";
import { ClientDisconnected, cookieLines, WriteTimeout } from "./socket-writer.ts";

const noBytes = Buffer.alloc(0);
/** Pipelined requests that are read in one turn of the event loop. */
const maxPipelinedPerTurn = 32;
const continueResponse = "HTTP/1.1 100 Continue\r\n\r\n";

export class ClientConnection implements LimitedConnection, RequestConnection, RefusedConnection {
  readonly socket: ClientSocket;
  readonly #server: ServerContext;
  readonly #headReader = new HeadReader();
  readonly #writeTimeout: WriteTimeout;
  #request: HttpRequest | undefined;
  /** The response to the current request has begun: `100 Continue` must not be written any more. */
  #isResponding = false;
  /** Pipelined requests so far. */
  #pipelined = 0;

  /** `isEncrypted`: the connection begins with a TLS handshake. */
  constructor(socket: ByteSocket, server: ServerContext, isEncrypted = false) {
    this.#server = server;
    const phase = new ConnectionPhase(server, isEncrypted ? "handshake" : "idle");
    this.#writeTimeout = new WriteTimeout(server.timeouts.writeMs);
    this.socket = new ClientSocket(socket, phase, () => this.#clientDisconnected());
  }

  get hasPartialHead(): boolean {
    return this.#headReader.hasBufferedBytes;
  }

  /** The socket has read bytes. */
  receive(bytes: Buffer): void {
    const { flow, phase, writer } = this.socket;
    flow.countRead(bytes.length);
    // Decrypted bytes show that the handshake is complete.
    this.socket.onHandshake();
    if (phase.state === "idle") {
      this.#readHead(bytes);
    } else if (phase.state === "busy") {
      // Received bytes do not extend the timeout of a client that does not read its response.
      if (!writer.isBlocked) phase.touch();
      if (this.#request) this.#feed(this.#request, bytes);
    } else {
      this.#discard(bytes);
    }
  }

  /** The client has sent FIN. */
  onInputEnd(): void {
    const { halfClose, flow, writer } = this.socket;
    halfClose.onFin(this.#isResponding);
    flow.end();
    const request = this.#request;
    const isHttp10 = request?.head.supportsChunked === false;
    if (!this.socket.isBusy || (isHttp10 && !this.#isResponding)) this.socket.end();
    if (!this.socket.isBusy || !request) return;
    if (!request.body.complete) {
      request.isLast = true;
      request.body.fail(incompleteBody());
    }
    if (!writer.isBlocked) this.writeContinue();
  }

  /** Called about once a second. */
  checkTimeouts(): void {
    const { phase, writer, halfClose } = this.socket;
    const { now, timeouts } = this.#server;
    if (this.socket.isIdle && now - this.socket.lastActivityAt > timeouts.headCacheMs) {
      this.#headReader.clearCache();
    }
    if (this.socket.isBusy && this.#isResponding && halfClose.isDisconnected(writer))
      this.socket.reset();
    const isReadingSlowly = this.#writeTimeout.isOver(now, writer);
    const action = phase.timedOut(this.hasPartialHead, isReadingSlowly);
    if (action === "linger") this.linger();
    else if (action) this.socket[action]();
  }

  /** Closes, and discards the bytes that the client still sends. */
  linger(): void {
    this.#request = undefined;
    this.#headReader.clear();
    this.socket.linger();
  }

  refuse(): void {
    refuseConnection(this, this.#server);
  }

  close(): void {
    this.socket.end();
  }

  /** Pauses or resumes the socket, depending on how much is buffered. */
  updateFlow(): void {
    const isFull = this.#headReader.isFull || this.#request?.body.isFull === true;
    this.socket.flow.setFull(isFull);
  }

  get remoteAddress(): string {
    return this.socket.remoteAddress;
  }

  /** An interim response: the client may send the body that it has announced (`expect: 100-continue`). */
  writeContinue(): void {
    if (!this.#isResponding) ignoreRejection(this.socket.writer.write(continueResponse));
  }

  #clientDisconnected(): void {
    const request = this.#request;
    this.#request = undefined;
    request?.clientDisconnected();
  }

  #readHead(bytes: Buffer): void {
    const isFirstPart = !this.hasPartialHead;
    let head: ParsedHead | undefined;
    try {
      head = this.#headReader.read(bytes);
    } catch (error) {
      refuseHead(this, this.#server, error as GatewayError);
      return;
    }
    if (head) this.#startRequest(head);
    else if (this.socket.halfClose.ended) this.socket.end();
    else if (isFirstPart) {
      this.socket.phase.touch();
      this.#server.limit.becameIdle(this);
    }
  }

  #startRequest(head: ParsedHead): void {
    const isAdmitted = this.#server.limit.admit(this);
    if (!isAdmitted && !this.#server.isProbe(head.path)) {
      this.refuse();
      return;
    }
    const request = new HttpRequest(head, this);
    if (!isAdmitted) request.isLast = true;
    this.#request = request;
    this.#isResponding = false;
    this.socket.phase.enter("busy");
    const rest = this.#headReader.takeRest();
    if (rest.length > 0) this.#feed(request, rest);
    if (this.socket.halfClose.ended) request.body.fail(incompleteBody());
    this.#server
      .onRequest(request)
      .then((response) => this.#respond(request, response), this.onError);
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
    this.#headReader.buffer(rest);
    this.updateFlow();
  }

  /**
   * Discards bytes that are not needed. Their number and time are bounded, so that no client can keep the gateway busy
   * with them.
   */
  #discard(bytes: Buffer): void {
    const { phase, isClosed } = this.socket;
    if (isClosed) return;
    const isTooMuch = phase.countDiscarded(bytes.length);
    if (phase.state === "lingering") {
      if (isTooMuch) this.socket.end();
      return;
    }
    const request = this.#request as HttpRequest;
    this.#feed(request, bytes);
    if (request.body.complete) this.#nextRequest();
    else if (request.isLast || isTooMuch) this.linger();
  }

  #respond(request: HttpRequest, response: OutgoingResponse): void {
    if (this.#request !== request) {
      discardBody(response).catch(this.#server.onError);
      return;
    }
    let sending: Promise<void> | undefined;
    try {
      this.#isResponding = true;
      const isOver = this.socket.halfClose.ended && !this.hasPartialHead;
      if (this.#server.isStopping || isOver) request.isLast = true;
      let headerLines = connectionHeader(request, response) + this.#server.dateHeader;
      if (response.setCookies) headerLines += cookieLines(response.setCookies);
      sending = sendResponse(response, request.head, headerLines, this.socket.writer);
    } catch (error) {
      discardBody(response).catch(this.#server.onError);
      this.onError(error);
      return;
    }
    if (sending) sending.then(() => this.#responseSent(request)).catch(this.onError);
    else this.#responseSent(request);
  }

  /** The response has been written to its last byte. */
  #responseSent(request: HttpRequest): void {
    if (this.#request !== request) return;
    this.#server.limit.becameIdle(this);
    try {
      if (request.isLast) {
        this.linger();
      } else if (request.body.complete) {
        this.#nextRequest();
      } else {
        this.socket.phase.enter("discarding");
        request.body.discard();
      }
    } catch (error) {
      this.onError(error);
    }
  }

  /** An incomplete response cannot be repaired: the client sees a reset. */
  readonly onError = (error: unknown): void => {
    if (!(error instanceof ClientDisconnected)) this.#server.onError(error);
    this.socket.reset();
  };

  #nextRequest(): void {
    this.#request = undefined;
    this.socket.phase.enter("idle");
    if (!this.hasPartialHead) {
      if (this.socket.halfClose.ended) this.socket.end();
      else if (this.#server.isStopping) this.linger();
      else this.updateFlow();
    } else if (++this.#pipelined % maxPipelinedPerTurn > 0) this.#readPipelined();
    // In another turn of the event loop: a client that pipelines thousands of requests must not delay other clients.
    else setImmediate(this.#readPipelined);
  }

  readonly #readPipelined = (): void => {
    if (!this.socket.isIdle || !this.hasPartialHead) return;
    try {
      this.#readHead(noBytes);
    } catch (error) {
      this.onError(error);
    }
    this.updateFlow();
  };
}
