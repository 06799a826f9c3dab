/**
 * Half-close: distinguishes a client that has closed only its sending side, and waits for the response, from one that
 * has disconnected. Both send the same FIN. The system of a disconnected client answers the next byte with RST, so an
 * interim response shows the difference before the response has begun. After that only the response itself can: a FIN
 * in the middle of it, with nothing sent since, counts as a disconnect. HTTP/1.0 has no interim responses, and nginx
 * uses it for upstreams by default: there, a FIN before the response counts as a disconnect.
 */
import type { SocketWriter } from "./socket-writer.ts";

export class HalfClose {
  /** The client has sent FIN. */
  ended = false;
  /** How much had been sent at the last check, where the FIN arrived in the middle of a response. */
  #sentBytes: number | undefined;

  onFin(isResponding: boolean): void {
    this.ended = true;
    if (isResponding) this.#sentBytes = -1;
  }

  /** Called about once a second. True when nothing was sent between two checks. */
  isDisconnected({ sentBytes, isBlocked }: Pick<SocketWriter, "sentBytes" | "isBlocked">): boolean {
    if (this.#sentBytes === undefined || isBlocked) return false;
    const before = this.#sentBytes;
    this.#sentBytes = sentBytes;
    return before === sentBytes;
  }
}
