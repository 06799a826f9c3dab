/**
 * Connection reuse for streaming calls. An idle socket is kept only briefly: these requests must not be sent twice, so
 * the upstream must have no time to close a socket just as it is reused.
 */
import type { KeepAliveTrust } from "./keep-alive-trust.ts";
import { isResponse, unsolicitedBytes } from "./unsolicited-bytes.ts";

/** Less than the keep-alive timeout of any common server; gunicorn's two seconds are the shortest. */
const keepMs = 1000;
const open = 1;
/** Maximum idle sockets per address. A socket that carried much data reads larger chunks, so few of a hundred are kept. */
const mostKept = 8;

/** The current owner of a socket, which gets its events. */
export interface SocketOwner {
  take(bytes: Buffer): void;
  ended(cause?: unknown): void;
  opened(socket: ReusableSocket): void;
  drained(socket: ReusableSocket): void;
  fail(error: unknown): void;
}

export type ReusableSocket = Bun.Socket<SocketOwner>;

/** Owns a socket between two requests: bytes that arrive belong to neither. */
class Rest implements SocketOwner {
  readonly #drop: () => void;
  readonly #onUnsolicited: () => void;

  constructor(drop: () => void, onUnsolicited: () => void) {
    this.#drop = drop;
    this.#onUnsolicited = onUnsolicited;
  }

  take(bytes: Buffer): void {
    this.#drop();
    if (isResponse(bytes)) this.#onUnsolicited();
  }

  ended(): void {
    this.#drop();
  }

  fail(): void {
    this.#drop();
  }

  opened(): void {}
  drained(): void {}
}

export class ReusableSockets {
  readonly #resting = new Map<string, Map<ReusableSocket, ReturnType<typeof setTimeout>>>();
  readonly #trust: KeepAliveTrust;

  constructor(trust: KeepAliveTrust) {
    this.#trust = trust;
  }

  /** The socket that was used last (LIFO). */
  take(place: string, holder: SocketOwner): ReusableSocket | undefined {
    for (const socket of [...(this.#resting.get(place)?.keys() ?? [])].reverse()) {
      this.#forget(place, socket);
      if (socket.readyState !== open) continue;
      const waiting = unsolicitedBytes(socket);
      if (waiting === "none") {
        socket.data = holder;
        return socket;
      }
      socket.terminate();
      if (waiting === "unsolicited") this.unsolicited(place);
    }
    return undefined;
  }

  /** Bytes came on a connection to this place that no request asked for: those to the same place carry no more. */
  unsolicited(place: string): void {
    for (const socket of [...(this.#resting.get(place)?.keys() ?? [])]) {
      this.#forget(place, socket);
      socket.terminate();
    }
    // Nothing that came on these connections is cached.
    this.#trust.lose(place, 0);
  }

  put(place: string, socket: ReusableSocket): void {
    const resting = this.#resting.get(place) ?? new Map();
    this.#resting.set(place, resting);
    const drop = (): void => {
      this.#forget(place, socket);
      socket.terminate();
    };
    if (resting.size >= mostKept || !this.#trust.has(place)) {
      drop();
      return;
    }
    socket.data = new Rest(drop, () => this.unsolicited(place));
    resting.set(socket, setTimeout(drop, keepMs).unref());
  }

  close(): void {
    for (const resting of this.#resting.values()) {
      for (const [socket, timer] of resting) {
        clearTimeout(timer);
        socket.terminate();
      }
    }
    this.#resting.clear();
  }

  #forget(place: string, socket: ReusableSocket): void {
    const resting = this.#resting.get(place);
    clearTimeout(resting?.get(socket));
    resting?.delete(socket);
    if (resting?.size === 0) this.#resting.delete(place);
  }
}
