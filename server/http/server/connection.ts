/** A client's connection: one request after the other, each answered before the next is read. */

import { GatewayError } from "../../lib/gateway-error.ts";
import { ignoreRejection } from "../../lib/ignore-rejection.ts";
import type { Outgoing } from "../../request/http-types.ts";
import type { Holder } from "./connection-holders.ts";
import { Phase } from "./connection-phase.ts";
import { HalfClose } from "./half-close.ts";
import { HeadReader } from "./head-reader.ts";
import { Http2Spoken, http2Response, http2WaitMs, isWholePreface } from "./http2.ts";
import type { RequestHead } from "./parse-head.ts";
import { ReadFlow } from "./read-flow.ts";
import { connectionLine, Exchange } from "./request.ts";
import { incompleteBody } from "./request-body.ts";
import { lastResponse } from "./response-head.ts";
import { leave, leaveUntaken } from "./send-response.ts";
import type { House } from "./server-context.ts";
import { CallerLeft, Outlet } from "./socket-writer.ts";

export type Socket = Bun.Socket<Connection>;

const nothing = Buffer.alloc(0);
/** How much of later requests may be buffered while one is answered. */
const mostAheadBytes = 64 * 1024;
/** Pipelined requests that are read in one turn of the event loop. */
const mostInARow = 32;
const interim = "HTTP/1.1 100 Continue\r\n\r\n";

export class Connection {
  readonly #house: House;
  readonly #socket: Socket;
  readonly #outlet: Outlet;
  readonly #heads = new HeadReader();
  readonly #phase: Phase;
  /** Bytes that belong to no request yet. */
  #ahead: Buffer = nothing;
  #current: Exchange | undefined;
  /** The response to the current request has begun: no interim response may be written any more. */
  #answering = false;
  readonly #halfClose = new HalfClose();
  readonly #flow: ReadFlow;
  /** Pipelined requests so far. */
  #inARow = 0;
  /** It exceeds the maximum number of connections: only probes are served, unless its request is admitted. */
  #isSurplus = false;
  /** Checks since then. */
  #surplusChecks = 0;
  /** A request head has arrived on this connection. */
  #hasRequested = false;

  constructor(socket: Socket, house: House) {
    this.#socket = socket;
    this.#house = house;
    this.#outlet = new Outlet(socket);
    this.#flow = new ReadFlow(socket);
    this.#phase = new Phase(house);
  }

  /** Bytes of responses that the client has not read. */
  get unsentBytes(): number {
    return this.#outlet.unsentBytes;
  }

  /** Since when no byte has moved. */
  get since(): number {
    return this.#phase.since;
  }

  get isBusy(): boolean {
    return this.#phase.state === "busy";
  }

  get isIdle(): boolean {
    return this.#phase.state === "idle";
  }

  /** A request waits for bytes of its body that the client has not sent. */
  get isAwaitingBody(): boolean {
    return this.isBusy && this.#current?.content.isAwaited === true;
  }

  /**
   * The server waits for the client: for a request head, the rest of a body, or the client's close. A keep-alive
   * connection between two requests is not meant.
   */
  get isAwaitingClient(): boolean {
    const { state } = this.#phase;
    if (state === "idle") return !this.#hasRequested || this.#ahead.length > 0;
    return this.isAwaitingBody || state === "passing" || state === "lingering";
  }

  get holder(): Holder {
    return this.#holderOf(this.#current?.head);
  }

  #holderOf(head: RequestHead | undefined): Holder {
    const keyId = head && this.#house.keyIdOf(head);
    return keyId === undefined ? `address ${this.#socket.remoteAddress}` : `key ${keyId}`;
  }

  /** It exceeds the maximum number of connections. */
  becomeSurplus(): void {
    this.#isSurplus = true;
  }

  /** Closes it to make room, with a response where it waits for one as a surplus connection. */
  drop(): void {
    if (this.#isSurplus && this.isIdle) this.refuse(this.#house.turnAway());
    this.end();
  }

  /** Ends the request whose body does not arrive, with a response. */
  giveUpBody(): void {
    const current = this.#current;
    if (!current) return;
    current.isLast = true;
    current.content.fail(silentBody());
  }

  /** The socket has read bytes. */
  take(bytes: Buffer): void {
    this.#flow.read(bytes.length);
    if (this.#phase.state === "idle") {
      this.#read(this.#ahead.length > 0 ? Buffer.concat([this.#ahead, bytes]) : bytes);
    } else if (this.#phase.state === "busy") {
      // A client that reads nothing gets no more time by sending.
      if (!this.#outlet.isBlocked) this.#phase.moved();
      if (this.#current) this.#feed(this.#current, bytes);
    } else {
      this.#drop(bytes);
    }
  }

  /** The socket takes more. */
  drained(): void {
    this.#phase.moved();
    this.#outlet.drained();
  }

  /** The client has sent FIN. */
  inputEnded(): void {
    this.#halfClose.begin(this.#answering);
    this.#flow.end();
    const current = this.#current;
    const isHttp10 = current?.head.knowsChunks === false;
    if (!this.isBusy || (isHttp10 && !this.#answering)) this.end();
    if (!this.isBusy || !current) return;
    if (!current.content.complete) {
      current.isLast = true;
      current.content.fail(incompleteBody());
    }
    if (!this.#outlet.isBlocked) this.writeContinue();
  }

  /** The socket is closed. */
  gone(): void {
    if (this.#phase.state === "closed") return;
    this.#phase.state = "closed";
    this.#flow.end();
    const current = this.#current;
    this.#current = undefined;
    current?.leave();
    this.#outlet.gone();
  }

  /** Called about once a second. */
  check(): void {
    const { now, times } = this.#house;
    if (this.isIdle && now - this.#phase.since > times.forgetMs) this.#heads.forget();
    if (this.isIdle && now - this.#phase.since > http2WaitMs && isWholePreface(this.#ahead)) {
      this.#refuseHead(new Http2Spoken(0));
    }
    if (this.isBusy && this.#answering && this.#halfClose.isGone(this.#outlet)) this.cut();
    // The second check comes a second after the first: the head has had that time at least.
    if (this.#isSurplus && this.isIdle && ++this.#surplusChecks > 1) {
      this.refuse(this.#house.turnAway());
      return;
    }
    const how = this.#phase.overdue(this.#ahead.length > 0, this.#outlet.isBlocked);
    if (how) this[how]();
  }

  /** At once, with RST: the client notices that a response is incomplete. */
  cut(): void {
    if (this.#phase.state === "closed") return;
    this.#socket.terminate();
    this.gone();
  }

  /** Bytes that were given to the socket are still sent. */
  end(): void {
    if (this.#phase.state === "closed") return;
    this.#socket.end();
    this.gone();
  }

  #read(bytes: Buffer): void {
    let head: RequestHead | undefined;
    try {
      head = this.#heads.read(bytes);
    } catch (error) {
      this.#refuseHead(error as GatewayError);
      return;
    }
    if (head) this.#exchange(head, bytes, this.#heads.bodyStart);
    else if (this.#halfClose.ended) this.end();
    else {
      if (this.#ahead.length === 0) this.#phase.moved();
      this.#ahead = bytes;
    }
  }

  #refuseHead(error: GatewayError): void {
    const refusal = this.#house.refuse(error);
    if (error instanceof Http2Spoken) this.#writeLast(http2Response(refusal, error.stream));
    else this.refuse(refusal);
  }

  /** `bodyStart`: where the body begins in `bytes`. */
  #exchange(head: RequestHead, bytes: Buffer, bodyStart: number): void {
    this.#hasRequested = true;
    const isProbe = this.#isSurplus && this.#house.isProbe(head.path);
    if (this.#isSurplus && !isProbe) {
      if (!this.#house.limit.admit(this, this.#holderOf(head))) {
        this.refuse(this.#house.turnAway());
        return;
      }
      this.#isSurplus = false;
    }
    const current = new Exchange(head, this);
    if (isProbe) current.isLast = true;
    this.#ahead = nothing;
    this.#current = current;
    this.#house.limit.requestBegan(this);
    this.#answering = false;
    this.#phase.enter("busy");
    if (bytes.length > bodyStart) this.#feed(current, bytes.subarray(bodyStart));
    if (this.#halfClose.ended) current.content.fail(incompleteBody());
    this.#house.reply(current).then((outgoing) => this.#answer(current, outgoing), this.#broke);
  }

  #feed(current: Exchange, bytes: Buffer): void {
    let rest: Buffer = nothing;
    try {
      rest = current.content.push(bytes);
    } catch (error) {
      // Where the body ends is not known any more, and so not where the next request begins.
      current.isLast = true;
      current.content.fail(error);
    }
    if (rest.length === 0 || current.isLast) return;
    this.#ahead = this.#ahead.length > 0 ? Buffer.concat([this.#ahead, rest]) : rest;
    this.flow();
  }

  /** Bytes that no reader wants. Their number and time are bounded, so that nobody can keep the gateway busy with them. */
  #drop(bytes: Buffer): void {
    if (this.#phase.state === "closed") return;
    const tooMuch = this.#phase.dropped(bytes.length);
    if (this.#phase.state === "lingering") {
      if (tooMuch) this.end();
      return;
    }
    const current = this.#current as Exchange;
    this.#feed(current, bytes);
    if (current.content.complete) this.#next();
    else if (current.isLast || tooMuch) this.linger();
  }

  /** Pauses or resumes the socket, by how much is buffered. */
  flow(): void {
    const isFar = this.#ahead.length > mostAheadBytes;
    this.#flow.setFull(isFar || this.#current?.content.isFull === true);
  }

  /** An interim response: the client may send the body that it has announced. */
  writeContinue(): void {
    if (!this.#answering) ignoreRejection(this.#outlet.put(interim));
  }

  #answer(current: Exchange, outgoing: Outgoing): void {
    if (this.#current !== current) {
      leaveUntaken(outgoing).catch(this.#house.onBroken);
      return;
    }
    let leaving: Promise<void> | undefined;
    try {
      this.#answering = true;
      if (this.#house.stopping || (this.#halfClose.ended && this.#ahead.length === 0))
        current.isLast = true;
      const more = connectionLine(current, outgoing) + this.#house.date;
      leaving = leave(outgoing, current.head, more, this.#outlet);
    } catch (error) {
      leaveUntaken(outgoing).catch(this.#house.onBroken);
      this.#broke(error);
      return;
    }
    if (leaving) leaving.then(() => this.#left(current)).catch(this.#broke);
    else this.#left(current);
  }

  /** The response has been written to its last byte. */
  #left(current: Exchange): void {
    if (this.#current !== current) return;
    try {
      if (current.isLast) {
        this.linger();
      } else if (current.content.complete) {
        this.#next();
      } else {
        this.#phase.enter("passing");
        current.content.discard();
      }
    } catch (error) {
      this.#broke(error);
    }
  }

  /** Half a response cannot be mended: the client sees that it was cut off. */
  readonly #broke = (error: unknown): void => {
    if (!(error instanceof CallerLeft)) this.#house.onBroken(error);
    this.cut();
  };

  #next(): void {
    this.#current = undefined;
    this.#phase.enter("idle");
    if (this.#ahead.length === 0) {
      if (this.#halfClose.ended) this.end();
      else if (this.#house.stopping) this.linger();
      else this.flow();
    } else if (++this.#inARow % mostInARow > 0) this.#readAhead();
    // In another turn of the event loop: a client that pipelines thousands of requests must not hold up the others.
    else setImmediate(this.#readAhead);
  }

  readonly #readAhead = (): void => {
    const ahead = this.#ahead;
    if (this.#phase.state !== "idle" || ahead.length === 0) return;
    this.#ahead = nothing;
    try {
      this.#read(ahead);
    } catch (error) {
      this.#broke(error);
    }
    this.flow();
  };

  /** Writes a response that ends the connection, whatever the client has sent. */
  refuse(outgoing: Outgoing): void {
    this.#writeLast(lastResponse(outgoing, this.#house.date));
  }

  #writeLast(response: string | Uint8Array): void {
    const leaving = this.#outlet.put(response);
    this.#phase.enter("busy");
    if (leaving) leaving.then(() => this.linger()).catch(this.#broke);
    else this.linger();
  }

  /** Closes with FIN. Closing at once while the client sends would reset the connection, and lose the response. */
  linger(): void {
    if (this.#phase.state === "closed") return;
    this.#current = undefined;
    this.#ahead = nothing;
    this.#phase.enter("lingering");
    if (this.#halfClose.ended) {
      this.end();
      return;
    }
    this.flow();
    this.#socket.shutdown();
  }
}

const silentBody = (): GatewayError =>
  new GatewayError(
    "request_timeout",
    "The body did not arrive in time: the gateway has as many connections as it can serve, and gave this one to another client. Send the whole body at once, and retry.",
  );
