/** The entry of a connection in the connection table: whose connection it is, and how the connection limit ends it. */
import { GatewayError } from "../../lib/gateway-error.ts";
import type { ClientSocket } from "./client-socket.ts";
import type { Holder } from "./connection-holders.ts";
import type { LimitedConnection } from "./connection-limit.ts";
import type { RequestHead } from "./parse-head.ts";
import type { HttpRequest } from "./request.ts";
import type { ServerContext } from "./server-context.ts";

/** The properties of a connection that its entry reads. */
export interface TableConnection {
  readonly socket: ClientSocket;
  readonly request: HttpRequest | undefined;
  /** A part of the next request head has arrived. */
  readonly hasPartialHead: boolean;
  /** Writes the refusal of a connection beyond the maximum, and closes. */
  refuseSurplus(): void;
}

export class ConnectionEntry<C extends TableConnection> implements LimitedConnection {
  readonly connection: C;
  readonly #server: Pick<ServerContext, "keyIdOf" | "limit">;
  /** The connection exceeds the maximum: only probes are served, unless its request is admitted. */
  #isSurplus = false;
  /** Checks since the connection became a surplus connection. */
  #surplusChecks = 0;
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
    // A keep-alive connection between two requests does not hold up the server.
    if (state === "handshake") return true;
    if (state === "idle") return !this.#hasRequested || this.connection.hasPartialHead;
    return this.isAwaitingBody || state === "discarding" || state === "lingering";
  }

  get holder(): Holder {
    return this.#holderOf(this.connection.request?.head);
  }

  #holderOf(head: RequestHead | undefined): Holder {
    const keyId = head && this.#server.keyIdOf(head);
    return keyId === undefined ? `address ${this.connection.socket.remoteAddress}` : `key ${keyId}`;
  }

  /** Marks the connection as one beyond the maximum number of connections. */
  becomeSurplus(): void {
    this.#isSurplus = true;
  }

  /** A request head has arrived. False if the request has to be refused: the table stays full. `isProbe`: it is served in any case. */
  admit(head: RequestHead, isProbe: boolean): boolean {
    this.#hasRequested = true;
    if (!this.#isSurplus || isProbe) return true;
    if (!this.#server.limit.admit(this, this.#holderOf(head))) return false;
    this.#isSurplus = false;
    return true;
  }

  /** Called about once a second. True when a surplus connection has had at least a second for its request head. */
  isOverdue(): boolean {
    return this.#isSurplus && this.isIdle && ++this.#surplusChecks > 1;
  }

  drop(): void {
    if (this.#isSurplus && this.isIdle) this.connection.refuseSurplus();
    this.connection.socket.end();
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
