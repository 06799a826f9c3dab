/**
 * Tells a client that has closed only its sending side, and waits for the response, from one that is gone. Both send the
 * same FIN. A client that is gone answers the next byte with RST, so an interim response finds out before the response
 * has begun. After that only the response itself can: a FIN in its midst, with nothing sent since, counts as gone. HTTP/1.0
 * has no interim responses, and nginx speaks it to us by default: there, a FIN before the response counts as gone.
 */
import type { SocketWriter } from "./socket-writer.ts";

export class HalfClose {
  /** The client has sent FIN. */
  ended = false;
  /** How much had been sent at the last look, where the FIN arrived in the midst of a response. */
  #sentBytes: number | undefined;

  onFin(inResponse: boolean): void {
    this.ended = true;
    if (inResponse) this.#sentBytes = -1;
  }

  /** Called about once a second. True when nothing was sent from one look to the next. */
  isDisconnected({ sentBytes, isBlocked }: Pick<SocketWriter, "sentBytes" | "isBlocked">): boolean {
    if (this.#sentBytes === undefined || isBlocked) return false;
    const before = this.#sentBytes;
    this.#sentBytes = sentBytes;
    return before === sentBytes;
  }
}
