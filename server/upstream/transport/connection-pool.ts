/** Connection pool: idle keep-alive connections, by address. */
import type { Connection } from "./connection.ts";
import type { KeepAliveTrust } from "./keep-alive-trust.ts";

/** Longer than the usual pause between requests, shorter than the keep-alive timeout of most servers. */
const idleTimeoutMs = 30_000;
/** Maximum idle connections per address; others are closed when their request ends. */
const maxIdle = 256;

export class ConnectionPool {
  readonly #idle = new Map<string, Connection[]>();
  readonly #clock: () => number;
  readonly #trust: KeepAliveTrust;
  #sweeping: ReturnType<typeof setInterval> | undefined;
  #closed = false;

  /** `clock`: milliseconds, monotonic. */
  constructor(clock: () => number, trust: KeepAliveTrust) {
    this.#clock = clock;
    this.#trust = trust;
  }

  /** The connection that was used last (LIFO): it is the most likely to be still open. */
  takeIdle(address: string): Connection | undefined {
    const idle = this.#idle.get(address);
    if (!idle) return undefined;
    let connection = idle.pop();
    while (connection && !connection.isReady()) connection = idle.pop();
    return connection;
  }

  /**
   * An unsolicited response came from this address: its idle connections are closed, and it loses keep-alive for a
   * while.
   */
  onUnsolicited(address: string, responses: number): void {
    for (const connection of this.#idle.get(address)?.splice(0) ?? []) connection.close();
    this.#trust.distrust(address, responses);
  }

  /** Returns a connection whose request has ended to the pool. */
  release(address: string, connection: Connection): void {
    if (connection.closed) return;
    let idle = this.#idle.get(address);
    if (!idle) {
      idle = [];
      this.#idle.set(address, idle);
    }
    // A request may end after the HTTP client was closed.
    if (this.#closed || idle.length >= maxIdle || !this.#trust.isTrusted(address)) {
      connection.close();
      return;
    }
    connection.idleSince = this.#clock();
    idle.push(connection);
    this.#sweep();
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#sweeping);
    this.#sweeping = undefined;
    for (const idle of this.#idle.values()) for (const connection of idle) connection.close();
    this.#idle.clear();
  }

  /** Runs while there are idle connections. */
  #sweep(): void {
    this.#sweeping ??= setInterval(() => {
      const before = this.#clock() - idleTimeoutMs;
      for (const [address, idle] of this.#idle) {
        const kept = idle.filter((connection) => {
          if (connection.idleSince < before) connection.close();
          return !connection.closed;
        });
        if (kept.length > 0) this.#idle.set(address, kept);
        else this.#idle.delete(address);
      }
      if (this.#idle.size > 0) return;
      clearInterval(this.#sweeping);
      this.#sweeping = undefined;
    }, idleTimeoutMs / 4).unref();
  }
}
