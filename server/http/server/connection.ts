/** A client's connection: one request after the other, each answered before the next is read. */

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
/** How much of later requests may be buffered while one is answered. */
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
  /** Bytes that belong to no request yet. */
  #unparsed: Buffer = noBytes;
  #request: HttpRequest | undefined;
  /** The response to the current request has begun: no interim response may be written any more. */
  #isResponding = false;
  readonly #halfClose = new HalfClose();
  readonly #flow: ReadFlow;
  /** Pipelined requests so far. */
  #pipelined = 0;
  /** It exceeds the maximum number of connections: only probes are served, unless its request is admitted. */
  #isSurplus = false;
  /** Checks since then. */
  #surplusChecks = 0;
  /** A request head has arrived on this connection. */
  #hasRequested = false;

  constructor(socket: Socket, house: ServerContext) {
    this.#socket = socket;
    this.#server = house;
    this.#writer = new SocketWriter(socket);
    this.#flow = new ReadFlow(socket);
    this.#phase = new ConnectionPhase(house);
  }

  /** Bytes of responses that the client has not read. */
  get unsentBytes(): number {
    return this.#writer.unsentBytes;
  }

  /** Since when no byte has moved. */
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
   * The server waits for the client: for a request head, the rest of a body, or the client's close. A keep-alive
   * connection between two requests is not meant.
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

  /** It exceeds the maximum number of connections. */
  becomeSurplus(): void {
    this.#isSurplus = true;
  }

  /** Closes it to make room, with a response where it waits for one as a surplus connection. */
  drop(): void {
    if (this.#isSurplus && this.isIdle) this.refuse(this.#server.refuseConnection());
    this.end();
  }

  /** Ends the request whose body does not arrive, with a response. */
  abandonBody(): void {
    const current = this.#request;
    if (!current) return;
    current.isLast = true;
    current.body.fail(bodyNotReceived());
  }

  /** The socket has read bytes. */
  receive(bytes: Buffer): void {
    this.#flow.countRead(bytes.length);
    if (this.#phase.state === "idle") {
      this.#readHead(this.#unparsed.length > 0 ? Buffer.concat([this.#unparsed, bytes]) : bytes);
    } else if (this.#phase.state === "busy") {
      // A client that reads nothing gets no more time by sending.
      if (!this.#writer.isBlocked) this.#phase.touch();
      if (this.#request) this.#feed(this.#request, bytes);
    } else {
      this.#discard(bytes);
    }
  }

  /** The socket takes more. */
  onDrain(): void {
    this.#phase.touch();
    this.#writer.onDrain();
  }

  /** The client has sent FIN. */
  onInputEnd(): void {
    this.#halfClose.onFin(this.#isResponding);
    this.#flow.end();
    const current = this.#request;
    const isHttp10 = current?.head.supportsChunked === false;
    if (!this.isBusy || (isHttp10 && !this.#isResponding)) this.end();
    if (!this.isBusy || !current) return;
    if (!current.body.complete) {
      current.isLast = true;
      current.body.fail(incompleteBody());
    }
    if (!this.#writer.isBlocked) this.writeContinue();
  }

  /** The socket is closed. */
  onClose(): void {
    if (this.#phase.state === "closed") return;
    this.#phase.state = "closed";
    this.#flow.end();
    const current = this.#request;
    this.#request = undefined;
    current?.clientDisconnected();
    this.#writer.close();
  }

  /** Called about once a second. */
  checkTimeouts(): void {
    const { now, timeouts: times } = this.#server;
    if (this.isIdle && now - this.#phase.lastActivityAt > times.headCacheMs)
      this.#headReader.clearCache();
    if (
      this.isIdle &&
      now - this.#phase.lastActivityAt > http2HeadersMs &&
      isWholePreface(this.#unparsed)
    ) {
      this.#refuseHead(new Http2Unsupported(0));
    }
    if (this.isBusy && this.#isResponding && this.#halfClose.isDisconnected(this.#writer))
      this.reset();
    // The second check comes a second after the first: the head has had that time at least.
    if (this.#isSurplus && this.isIdle && ++this.#surplusChecks > 1) {
      this.refuse(this.#server.refuseConnection());
      return;
    }
    const how = this.#phase.timedOut(this.#unparsed.length > 0, this.#writer.isBlocked);
    if (how) this[how]();
  }

  /** At once, with RST: the client notices that a response is incomplete. */
  reset(): void {
    if (this.#phase.state === "closed") return;
    this.#socket.terminate();
    this.onClose();
  }

  /** Bytes that were given to the socket are still sent. */
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
    const current = new HttpRequest(head, this);
    if (isProbe) current.isLast = true;
    this.#unparsed = noBytes;
    this.#request = current;
    this.#server.limit.requestBegan(this);
    this.#isResponding = false;
    this.#phase.enter("busy");
    if (bytes.length > bodyStart) this.#feed(current, bytes.subarray(bodyStart));
    if (this.#halfClose.ended) current.body.fail(incompleteBody());
    this.#server
      .handle(current)
      .then((outgoing) => this.#respond(current, outgoing), this.#onError);
  }

  #feed(current: HttpRequest, bytes: Buffer): void {
    let rest: Buffer = noBytes;
    try {
      rest = current.body.push(bytes);
    } catch (error) {
      // Where the body ends is not known any more, and so not where the next request begins.
      current.isLast = true;
      current.body.fail(error);
    }
    if (rest.length === 0 || current.isLast) return;
    this.#unparsed = this.#unparsed.length > 0 ? Buffer.concat([this.#unparsed, rest]) : rest;
    this.updateFlow();
  }

  /** Bytes that no reader wants. Their number and time are bounded, so that nobody can keep the gateway busy with them. */
  #discard(bytes: Buffer): void {
    if (this.#phase.state === "closed") return;
    const tooMuch = this.#phase.countDiscarded(bytes.length);
    if (this.#phase.state === "lingering") {
      if (tooMuch) this.end();
      return;
    }
    const current = this.#request as HttpRequest;
    this.#feed(current, bytes);
    if (current.body.complete) this.#nextRequest();
    else if (current.isLast || tooMuch) this.linger();
  }

  /** Pauses or resumes the socket, by how much is buffered. */
  updateFlow(): void {
    const isFar = this.#unparsed.length > maxPipelinedBytes;
    this.#flow.setFull(isFar || this.#request?.body.isFull === true);
  }

  /** An interim response: the client may send the body that it has announced. */
  writeContinue(): void {
    if (!this.#isResponding) ignoreRejection(this.#writer.write(continueResponse));
  }

  #respond(current: HttpRequest, outgoing: OutgoingResponse): void {
    if (this.#request !== current) {
      discardBody(outgoing).catch(this.#server.onError);
      return;
    }
    let leaving: Promise<void> | undefined;
    try {
      this.#isResponding = true;
      if (this.#server.isStopping || (this.#halfClose.ended && this.#unparsed.length === 0))
        current.isLast = true;
      const more = connectionHeader(current, outgoing) + this.#server.dateHeader;
      leaving = sendResponse(outgoing, current.head, more, this.#writer);
    } catch (error) {
      discardBody(outgoing).catch(this.#server.onError);
      this.#onError(error);
      return;
    }
    if (leaving) leaving.then(() => this.#responseSent(current)).catch(this.#onError);
    else this.#responseSent(current);
  }

  /** The response has been written to its last byte. */
  #responseSent(current: HttpRequest): void {
    if (this.#request !== current) return;
    try {
      if (current.isLast) {
        this.linger();
      } else if (current.body.complete) {
        this.#nextRequest();
      } else {
        this.#phase.enter("discarding");
        current.body.discard();
      }
    } catch (error) {
      this.#onError(error);
    }
  }

  /** Half a response cannot be mended: the client sees that it was cut off. */
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
    // In another turn of the event loop: a client that pipelines thousands of requests must not hold up the others.
    else setImmediate(this.#readPipelined);
  }

  readonly #readPipelined = (): void => {
    const ahead = this.#unparsed;
    if (this.#phase.state !== "idle" || ahead.length === 0) return;
    this.#unparsed = noBytes;
    try {
      this.#readHead(ahead);
    } catch (error) {
      this.#onError(error);
    }
    this.updateFlow();
  };

  /** Writes a response that ends the connection, whatever the client has sent. */
  refuse(outgoing: OutgoingResponse): void {
    this.#writeLast(closingResponse(outgoing, this.#server.dateHeader));
  }

  #writeLast(response: string | Uint8Array): void {
    const leaving = this.#writer.write(response);
    this.#phase.enter("busy");
    if (leaving) leaving.then(() => this.linger()).catch(this.#onError);
    else this.linger();
  }

  /** Closes with FIN. Closing at once while the client sends would reset the connection, and lose the response. */
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
    "The body did not arrive in time: the gateway has as many connections as it can serve, and gave this one to another client. Send the whole body at once, and retry.",
  );
