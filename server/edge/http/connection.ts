/** A caller's connection: requests one after the other, each answered before the next is looked at. */
import type { Outgoing } from "../../gateway/incoming.ts";
import type { GatewayError } from "../../std/gateway-error.ts";
import { unheard } from "../../std/unheard.ts";
import { answerHead } from "./answer-head.ts";
import { Exchange } from "./exchange.ts";
import { headTooLarge, mostHeadBytes, RequestHead, refuseStart } from "./head.ts";
import type { House } from "./house.ts";
import { leave, leaveUntaken } from "./leave.ts";
import { CallerLeft, Outlet } from "./outlet.ts";

export type Socket = Bun.Socket<Connection>;

const nothing = Buffer.alloc(0);
const headEnd = Buffer.from("\r\n\r\n");
/** So much may come ahead of its turn. */
const mostAheadBytes = 64 * 1024;
const mostInARow = 32;

type State =
  /** Between requests. */
  | "idle"
  /** A request is worked on, or its answer is leaving. */
  | "busy"
  /** Answered, but the rest of its body is still coming. */
  | "passing"
  /** Closed on our side: what still comes is not looked at. */
  | "lingering"
  | "closed";

export class Connection {
  readonly #house: House;
  readonly #socket: Socket;
  readonly #outlet: Outlet;
  #state: State = "idle";
  /** When the present state began, or anything last moved in it. */
  #since: number;
  /** Came, and belongs to no request yet. */
  #ahead: Buffer = nothing;
  #current: Exchange | undefined;
  /** The last one, and its bytes. Callers that stay say the same again and again. */
  #head: RequestHead | undefined;
  #said: Buffer = nothing;
  #paused = false;
  /** Requests that had come ahead of their turn. */
  #inARow = 0;

  constructor(socket: Socket, house: House) {
    this.#socket = socket;
    this.#house = house;
    this.#outlet = new Outlet(socket);
    this.#since = house.now;
  }

  /** What lies here for a caller who does not take it. */
  get unsentBytes(): number {
    return this.#outlet.unsentBytes;
  }

  /** Since when nothing moves. */
  get since(): number {
    return this.#since;
  }

  get isBusy(): boolean {
    return this.#state === "busy";
  }

  /** The socket has more. */
  take(piece: Buffer): void {
    const state = this.#state;
    if (state === "idle") {
      this.#read(this.#ahead.length > 0 ? Buffer.concat([this.#ahead, piece]) : piece);
    } else if (state === "busy" || state === "passing") {
      // Who takes nothing is not waited for any longer because of what it sends.
      if (!this.#outlet.isBlocked) this.#since = this.#house.now;
      if (this.#current) this.#feed(this.#current, piece);
      if (state === "passing" && this.#current?.content.complete) this.#next();
      else if (state === "passing" && this.#current?.isLast) this.#linger();
    }
  }

  /** The socket takes more. */
  drained(): void {
    this.#since = this.#house.now;
    this.#outlet.drained();
  }

  /** The socket is gone. */
  gone(): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    const current = this.#current;
    this.#current = undefined;
    current?.leave();
    this.#outlet.gone();
  }

  /** Called from time to time. */
  check(): void {
    const { now, times } = this.#house;
    const quiet = now - this.#since;
    switch (this.#state) {
      case "idle":
        if (quiet > (this.#ahead.length > 0 ? times.headMs : times.idleMs)) this.end();
        return;
      case "busy":
        if (this.#outlet.isBlocked && quiet > times.takeMs) this.cut();
        return;
      case "passing":
        if (quiet > times.bodyMs) this.cut();
        return;
      case "lingering":
        if (quiet > times.lingerMs) this.end();
    }
  }

  /** At once. The caller notices that it was not meant to be. */
  cut(): void {
    if (this.#state === "closed") return;
    this.#socket.terminate();
    this.gone();
  }

  /** What was given to the socket still leaves. */
  end(): void {
    if (this.#state === "closed") return;
    this.#socket.end();
    this.gone();
  }

  endIfIdle(): void {
    if (this.#state === "idle") this.end();
  }

  #read(bytes: Buffer): void {
    const said = this.#said;
    if (this.#head && bytes.length >= said.length && said.compare(bytes, 0, said.length) === 0) {
      this.#exchange(this.#head, bytes, said.length);
      return;
    }
    let start = 0;
    // Some send a line break after a body that is counted without it.
    while (start < 8 && bytes[start] === 0x0d && bytes[start + 1] === 0x0a) start += 2;
    const end = bytes.indexOf(headEnd, start);
    if (end >= 0 && end - start <= mostHeadBytes) {
      this.#begin(bytes, start, end);
      return;
    }
    // The last bytes may be the first of the empty line.
    const length = bytes.length - start - (headEnd.length - 1);
    const refused = length > mostHeadBytes ? headTooLarge() : refuseStart(bytes, start);
    if (refused) {
      this.#refuse(refused);
      return;
    }
    if (this.#ahead.length === 0) this.#since = this.#house.now;
    this.#ahead = bytes;
  }

  #begin(bytes: Buffer, start: number, end: number): void {
    try {
      this.#head = new RequestHead(bytes.toString("latin1", start, end));
    } catch (error) {
      this.#refuse(error as GatewayError);
      return;
    }
    this.#said = Buffer.from(bytes.subarray(start, end + headEnd.length));
    this.#exchange(this.#head, bytes, end + headEnd.length);
  }

  /** `after`: where the body begins. */
  #exchange(head: RequestHead, bytes: Buffer, after: number): void {
    const current = new Exchange(head, this);
    this.#ahead = nothing;
    this.#current = current;
    this.#state = "busy";
    this.#since = this.#house.now;
    if (bytes.length > after) this.#feed(current, bytes.subarray(after));
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

  /** Takes more from the socket, or not, by how much lies here. */
  flow(): void {
    const full = this.#ahead.length > mostAheadBytes || this.#current?.content.isFull === true;
    if (full === this.#paused || this.#state === "closed") return;
    this.#paused = full;
    if (full) this.#socket.pause();
    else this.#socket.resume();
  }

  /** The caller may send the body that it has announced. */
  askOn(): void {
    unheard(this.#outlet.put("HTTP/1.1 100 Continue\r\n\r\n"));
  }

  #answer(current: Exchange, outgoing: Outgoing): void {
    if (this.#current !== current) {
      leaveUntaken(outgoing).catch(this.#house.onBroken);
      return;
    }
    const { head } = current;
    // Whoever waits to be asked for a body may or may not send it now.
    if (this.#house.stopping || (current.unasked && !current.content.complete))
      current.isLast = true;
    if (outgoing.headers.connection === "close" || isUntold(outgoing, head)) current.isLast = true;
    const stay = head.knowsChunks ? "" : "connection: keep-alive\r\n";
    const close = outgoing.headers.connection ? "" : "connection: close\r\n";
    const more = (current.isLast ? close : stay) + this.#house.date;
    const leaving = leave(outgoing, head, more, this.#outlet);
    if (leaving) leaving.then(() => this.#left(current), this.#broke);
    else this.#left(current);
  }

  /** The answer has left. */
  #left(current: Exchange): void {
    if (this.#current !== current) return;
    this.#since = this.#house.now;
    if (current.isLast) {
      this.#linger();
    } else if (current.content.complete) {
      this.#next();
    } else {
      this.#state = "passing";
      current.content.discard();
    }
  }

  /** Half an answer cannot be mended: the caller sees that it was cut off. */
  readonly #broke = (error: unknown): void => {
    if (!(error instanceof CallerLeft)) this.#house.onBroken(error);
    this.cut();
  };

  #next(): void {
    this.#current = undefined;
    this.#state = "idle";
    this.#since = this.#house.now;
    if (this.#ahead.length === 0) {
      if (this.#house.stopping) this.end();
      else if (this.#paused) this.flow();
    } else if (++this.#inARow % mostInARow > 0) this.#readAhead();
    // In another turn of the event loop: whoever sends thousands ahead of their turn must not hold up the others.
    else setImmediate(this.#readAhead);
  }

  readonly #readAhead = (): void => {
    const ahead = this.#ahead;
    if (this.#state !== "idle" || ahead.length === 0) return;
    this.#ahead = nothing;
    this.#read(ahead);
    if (this.#paused) this.flow();
  };

  #refuse(error: GatewayError): void {
    const { status, headers, body } = this.#house.refuse(error);
    const text = body as string;
    const length = `content-length: ${Buffer.byteLength(text)}\r\n`;
    const more = `${length}connection: close\r\n${this.#house.date}`;
    const leaving = this.#outlet.put(answerHead(status, headers, more) + text);
    if (!leaving) {
      this.#linger();
      return;
    }
    this.#state = "busy";
    leaving.then(() => this.#linger(), this.#broke);
  }

  /** Closing while the caller still sends would tell it that the connection broke, and the answer would be lost. */
  #linger(): void {
    this.#current = undefined;
    this.#ahead = nothing;
    this.#state = "lingering";
    this.#since = this.#house.now;
    if (this.#paused) this.flow();
    this.#socket.shutdown();
  }
}

/** To HTTP/1.0, the end of what has no length is the end of the connection. */
const isUntold = ({ body }: Outgoing, { knowsChunks }: RequestHead): boolean =>
  !knowsChunks && typeof body === "object" && !("length" in body) && !(body instanceof Blob);
