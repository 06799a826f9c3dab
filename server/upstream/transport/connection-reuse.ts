/**
 * Connection reuse for streaming calls. An idle socket is kept only briefly: these requests must not be sent twice, so
 * the upstream must have no time to close a socket just as it is reused.
 */
import type { KeepAliveTrust } from "./keep-alive-trust.ts";
import { isResponse, unsolicitedBytes } from "./unsolicited-bytes.ts";

/** Less than the keep-alive timeout of any common server; gunicorn's two seconds are the shortest. */
const idleTimeoutMs = 1000;
const open = 1;
/**
 * Maximum idle sockets per address. A socket that carried much data reads larger chunks, so few of a hundred are kept.
 */
const maxIdle = 8;

/** The current owner of a socket, which gets its events. */
export interface SocketOwner {
  onData(bytes: Buffer): void;
  onEnd(cause?: unknown): void;
  onOpen(socket: ReusableSocket): void;
  onDrain(socket: ReusableSocket): void;
  onError(error: unknown): void;
}

export type ReusableSocket = Bun.Socket<SocketOwner>;

/** Owns an idle socket between two requests: bytes that arrive belong to neither. */
class IdleSocketOwner implements SocketOwner {
  readonly #drop: () => void;
  readonly #onUnsolicited: () => void;

  constructor(drop: () => void, onUnsolicited: () => void) {
    this.#drop = drop;
    this.#onUnsolicited = onUnsolicited;
  }

  onData(bytes: Buffer): void {
    this.#drop();
    if (isResponse(bytes)) this.#onUnsolicited();
  }

  onEnd(): void {
    this.#drop();
  }

  onError(): void {
    this.#drop();
  }

  onOpen(): void {}
  onDrain(): void {}
}

export class ReusableSockets {
  readonly #idle = new Map<string, Map<ReusableSocket, ReturnType<typeof setTimeout>>>();
  readonly #trust: KeepAliveTrust;

  constructor(trust: KeepAliveTrust) {
    this.#trust = trust;
  }

  /** The socket that was used last (LIFO). */
  take(address: string, owner: SocketOwner): ReusableSocket | undefined {
    for (const socket of [...(this.#idle.get(address)?.keys() ?? [])].reverse()) {
      this.#remove(address, socket);
      if (socket.readyState !== open) continue;
      const unread = unsolicitedBytes(socket);
      if (unread === "none") {
        socket.data = owner;
        return socket;
      }
      socket.terminate();
      if (unread === "unsolicited") this.onUnsolicited(address);
    }
    return undefined;
  }

  /**
   * An unsolicited response came from this address: its idle sockets are closed, and it loses keep-alive for a while.
   */
  onUnsolicited(address: string): void {
    for (const socket of [...(this.#idle.get(address)?.keys() ?? [])]) {
      this.#remove(address, socket);
      socket.terminate();
    }
    // Responses on these connections are never cached.
    this.#trust.distrust(address, 0);
  }

  release(address: string, socket: ReusableSocket): void {
    const idle = this.#idle.get(address) ?? new Map();
    this.#idle.set(address, idle);
    const drop = (): void => {
      this.#remove(address, socket);
      socket.terminate();
    };
    if (idle.size >= maxIdle || !this.#trust.isTrusted(address)) {
      drop();
      return;
    }
    socket.data = new IdleSocketOwner(drop, () => this.onUnsolicited(address));
    idle.set(socket, setTimeout(drop, idleTimeoutMs).unref());
  }

  close(): void {
    for (const idle of this.#idle.values()) {
      for (const [socket, timer] of idle) {
        clearTimeout(timer);
        socket.terminate();
      }
    }
    this.#idle.clear();
  }

  #remove(address: string, socket: ReusableSocket): void {
    const idle = this.#idle.get(address);
    clearTimeout(idle?.get(socket));
    idle?.delete(socket);
    if (idle?.size === 0) this.#idle.delete(address);
  }
}
