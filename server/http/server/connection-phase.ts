/** The state of a connection, and how long it may last. */
import type { House } from "./server-context.ts";

export type State =
  /** Between requests. */
  | "idle"
  /** A request is worked on, or its response is being written. */
  | "busy"
  /** Answered, but the rest of the request body is still arriving. */
  | "passing"
  /** Closed on our side (FIN): what still arrives is dropped. */
  | "lingering"
  | "closed";

/** How much of a body that nobody reads is passed over to keep the connection. */
export const mostUnreadBytes = 2 * 1024 * 1024;
/** How much is read and dropped after the last response, so that a client that is still sending can read it. */
const mostLingerBytes = 32 * 1024 * 1024;

export class Phase {
  state: State = "idle";
  /** When bytes last moved. */
  since: number;
  /** When the state began. */
  #began: number;
  /** Bytes that no reader wanted, in this state. */
  #dropped = 0;
  readonly #house: Pick<House, "now" | "times">;

  constructor(house: Pick<House, "now" | "times">) {
    this.#house = house;
    this.#began = this.since = house.now;
  }

  enter(state: State): void {
    this.state = state;
    this.#began = this.since = this.#house.now;
    this.#dropped = 0;
  }

  moved(): void {
    this.since = this.#house.now;
  }

  /** Counts bytes that no reader wants. True when they are more than is waited for. */
  dropped(bytes: number): boolean {
    this.moved();
    this.#dropped += bytes;
    return this.#dropped > (this.state === "lingering" ? mostLingerBytes : mostUnreadBytes);
  }

  /** How a connection that has lasted too long in this state is closed. */
  overdue(hasHalfHead: boolean, isBlocked: boolean): "end" | "cut" | "linger" | undefined {
    const { now, times } = this.#house;
    const [quiet, lasted] = [now - this.since, now - this.#began];
    switch (this.state) {
      case "idle":
        return quiet > (hasHalfHead ? times.headMs : times.idleMs) ? "end" : undefined;
      case "busy":
        return isBlocked && quiet > times.takeMs ? "cut" : undefined;
      case "passing":
        return quiet > times.bodyMs || lasted > times.drainMs ? "linger" : undefined;
      case "lingering":
        return quiet > times.lingerMs || lasted > times.drainMs ? "end" : undefined;
      case "closed":
        return undefined;
    }
  }
}
