/** The state of a connection, and how long it may last. */
import type { ServerContext } from "./server-context.ts";

export type ConnectionState =
  /** Between requests. */
  | "idle"
  /** A request is worked on, or its response is being written. */
  | "busy"
  /** Answered, but the rest of the request body is still arriving. */
  | "discarding"
  /** Closed on our side (FIN): what still arrives is dropped. */
  | "lingering"
  | "closed";

/** How much of a body that nobody reads is passed over to keep the connection. */
export const maxDiscardedBytes = 2 * 1024 * 1024;
/** How much is read and dropped after the last response, so that a client that is still sending can read it. */
const mostLingerBytes = 32 * 1024 * 1024;

export class ConnectionPhase {
  state: ConnectionState = "idle";
  /** When bytes last moved. */
  lastActivityAt: number;
  /** When the state began. */
  #began: number;
  /** Bytes that no reader wanted, in this state. */
  #dropped = 0;
  readonly #house: Pick<ServerContext, "now" | "timeouts">;

  constructor(house: Pick<ServerContext, "now" | "timeouts">) {
    this.#house = house;
    this.#began = this.lastActivityAt = house.now;
  }

  enter(state: ConnectionState): void {
    this.state = state;
    this.#began = this.lastActivityAt = this.#house.now;
    this.#dropped = 0;
  }

  touch(): void {
    this.lastActivityAt = this.#house.now;
  }

  /** Counts bytes that no reader wants. True when they are more than is waited for. */
  countDiscarded(bytes: number): boolean {
    this.touch();
    this.#dropped += bytes;
    return this.#dropped > (this.state === "lingering" ? mostLingerBytes : maxDiscardedBytes);
  }

  /** How a connection that has lasted too long in this state is closed. */
  timedOut(hasHalfHead: boolean, isBlocked: boolean): "end" | "reset" | "linger" | undefined {
    const { now, timeouts: times } = this.#house;
    const [quiet, lasted] = [now - this.lastActivityAt, now - this.#began];
    switch (this.state) {
      case "idle":
        return quiet > (hasHalfHead ? times.headMs : times.idleMs) ? "end" : undefined;
      case "busy":
        return isBlocked && quiet > times.writeMs ? "reset" : undefined;
      case "discarding":
        return quiet > times.bodyMs || lasted > times.drainMs ? "linger" : undefined;
      case "lingering":
        return quiet > times.lingerMs || lasted > times.drainMs ? "end" : undefined;
      case "closed":
        return undefined;
    }
  }
}
