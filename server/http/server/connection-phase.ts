/** The states of a connection, and the timeout of each. */
import type { ServerTime } from "./timeouts.ts";

export type ConnectionState =
  /** The TLS handshake is not complete. */
  | "handshake"
  /** Between two requests, or before the first. */
  | "idle"
  /** A request is being handled, or its response is being written. */
  | "busy"
  /** The response is written, but the rest of the request body is still arriving. */
  | "discarding"
  /** We have sent FIN: bytes that still arrive are discarded (lingering close). */
  | "lingering"
  | "closed";

/** Up to this many bytes of an unread body are discarded to keep the connection open. */
export const maxDiscardedBytes = 2 * 1024 * 1024;
/**
 * Up to this many bytes are discarded after the last response, so that a client that is still sending can read the
 * response.
 */
const maxLingerBytes = 32 * 1024 * 1024;

export class ConnectionPhase {
  state: ConnectionState;
  /** When bytes last moved. */
  lastActivityAt: number;
  /** When the state began. */
  #began: number;
  /** Bytes discarded in the current state. */
  #discardedBytes = 0;
  readonly #server: ServerTime;

  constructor(server: ServerTime, state: ConnectionState) {
    this.#server = server;
    this.state = state;
    this.#began = this.lastActivityAt = server.now;
  }

  enter(state: ConnectionState): void {
    this.state = state;
    this.#began = this.lastActivityAt = this.#server.now;
    this.#discardedBytes = 0;
  }

  touch(): void {
    this.lastActivityAt = this.#server.now;
  }

  /** Counts bytes that are discarded. True when they exceed the maximum of this state. */
  countDiscarded(bytes: number): boolean {
    this.touch();
    this.#discardedBytes += bytes;
    return this.#discardedBytes > (this.state === "lingering" ? maxLingerBytes : maxDiscardedBytes);
  }

  /** How to close the connection, if this state has timed out. */
  timedOut(hasPartialHead: boolean, isBlocked: boolean): "end" | "reset" | "linger" | undefined {
    const { now, timeouts } = this.#server;
    const silentMs = now - this.lastActivityAt;
    const stateMs = now - this.#began;
    switch (this.state) {
      case "handshake":
        return stateMs > timeouts.handshakeMs ? "reset" : undefined;
      case "idle":
        return silentMs > (hasPartialHead ? timeouts.headMs : timeouts.idleMs) ? "end" : undefined;
      case "busy":
        return isBlocked && silentMs > timeouts.writeMs ? "reset" : undefined;
      case "discarding":
        return silentMs > timeouts.bodyMs || stateMs > timeouts.drainMs ? "linger" : undefined;
      case "lingering":
        return silentMs > timeouts.lingerMs || stateMs > timeouts.drainMs ? "end" : undefined;
      case "closed":
        return undefined;
    }
  }
}
