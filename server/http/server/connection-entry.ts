/** The entry of a connection in the connection table: its holder, and how the connection limit closes it. */
import { GatewayError } from "../../lib/gateway-error.ts";
import type { ClientSocket } from "./client-socket.ts";
import type { Holder } from "./connection-holders.ts";
import type { LimitedConnection } from "./connection-limit.ts";
import type { ParsedHead } from "./parse-head.ts";
import type { HttpRequest } from "./request.ts";
import type { ServerContext } from "./server-context.ts";

/**
 * How long a surplus connection may wait. Checks are a second apart: with less than that, the next check ends the wait.
 */
const surplusMs = 900;

/** The properties of a connection that its entry reads. */
export interface TableConnection {
  readonly socket: ClientSocket;
  readonly request: HttpRequest | undefined;
  /** The head of the current request, or of the last one if that was recent. */
  readonly lastHead: ParsedHead | undefined;
  /** A part of the next request head has arrived. */
  readonly hasPartialHead: boolean;
  /** Writes the refusal of a connection beyond the maximum, and closes. */
  refuseSurplus(): void;
  /** Serves the request that waited for capacity. */
  resume(): void;
}

export class ConnectionEntry<C extends TableConnection> implements LimitedConnection {
  readonly connection: C;
  readonly #server: Pick<ServerContext, "keyIdOf" | "limit">;
  /** The connection exceeds the maximum: only probes are served, unless its request is admitted. */
  #isSurplus = false;
  /** When the first check found the connection to be a surplus connection. */
  #surplusSince: number | undefined;
  /** A request head has arrived on this connection. */
  #hasRequested = false;

  constructor(connection: C, server: Pick<ServerContext, "keyIdOf" | "limit">) {
    this.connection = connection;
    this.#server = server;
  }

  get isSurplus(): boolean {
    return this.#isSurplus;
  }

  get lastActivityAt(): number {
    return this.connection.socket.lastActivityAt;
  }

  get isIdle(): boolean {
    const { isIdle, isInHandshake } = this.connection.socket;
    return isIdle || isInHandshake;
  }

  get isAwaitingBody(): boolean {
    const { socket, request } = this.connection;
    return socket.isBusy && request?.body.isAwaited === true;
  }

  get isAwaitingClient(): boolean {
    const { state } = this.connection.socket.phase;
    // The server does not wait for a keep-alive connection between two requests.
    if (state === "handshake") return true;
    if (state === "idle") return !this.#hasRequested || this.connection.hasPartialHead;
    return this.isAwaitingBody || state === "discarding" || state === "lingering";
  }

  get isReadingSlowly(): boolean {
    const { isBusy, readRate } = this.connection.socket;
    return isBusy && readRate.isSlow;
  }

  get holder(): Holder {
    return this.#holderOf(this.connection.lastHead);
  }

  #holderOf(head: ParsedHead | undefined): Holder {
    const keyId = head && this.#server.keyIdOf(head);
    return keyId === undefined ? `address ${this.connection.socket.remoteAddress}` : `key ${keyId}`;
  }

  /** Marks the connection as one beyond the maximum number of connections. */
  becomeSurplus(): void {
    this.#isSurplus = true;
  }

  /** A request head has arrived. `isProbe`: the request is served in any case. */
  admit(head: ParsedHead, isProbe: boolean): "serve" | "wait" | "refuse" {
    this.#hasRequested = true;
    if (!this.#isSurplus || isProbe) return "serve";
    const { limit } = this.#server;
    const holder = this.#holderOf(head);
    if (!limit.admit(this, holder)) return limit.wait(this, holder) ? "wait" : "refuse";
    this.#isSurplus = false;
    return "serve";
  }

  resume(): void {
    this.#isSurplus = false;
    this.connection.resume();
  }

  /**
   * Called about once a second. True when a surplus connection has had about a second for its request head, or has
   * waited that long for capacity. By the clock, because on a busy machine two checks may follow each other
   * immediately.
   */
  isOverdue(now: number): boolean {
    if (!this.#isSurplus || !this.isIdle) return false;
    this.#surplusSince ??= now;
    const isOverdue = now - this.#surplusSince >= surplusMs;
    if (isOverdue) this.#server.limit.stopWaiting(this);
    return isOverdue;
  }

  drop(): void {
    const { socket } = this.connection;
    if (this.#isSurplus && this.isIdle) this.connection.refuseSurplus();
    // The client must notice that its response is incomplete.
    if (this.isReadingSlowly) socket.reset();
    else socket.end();
  }

  abandonBody(): void {
    const { request } = this.connection;
    if (!request) return;
    request.isLast = true;
    request.body.fail(bodyNotReceived());
  }
}

const bodyNotReceived = (): GatewayError =>
  new GatewayError(
    "request_timeout",
    "The request body did not arrive in time: the gateway has reached its maximum number of connections and closed this one for another client. Send the whole body without pauses, and retry.",
  );
