/**
 * Connection pool: idle keep-alive connections for reuse, by scheme, host and port. A new connection resolves the host
 * name through Bun's cache, which keeps names for seconds (bin/environment.json). The pool bounds idle connections
 * only: concurrency limits bound the open ones.
 *
 * HTTP/1.1 does not say which request a response belongs to: after one unsolicited response, each request on the
 * connection could get the response of the one before it. A connection on which bytes arrive while it is idle is
 * therefore closed, and its address gets a new connection for each request for a while.
 */
import { nextTurn } from "../../lib/tasks.ts";
import { type Address, UpstreamConnection } from "./connection.ts";

export interface Unsolicited {
  /** Host and port of the upstream. */
  readonly address: string;
  /** Responses that were delivered before on the same connection may have belonged to other requests. */
  readonly earlierResponsesSuspect: boolean;
}

export interface PoolOptions {
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  readonly onUnsolicited?: ((event: Unsolicited) => void) | undefined;
  /** How long no connection to an address is reused that sent an unsolicited response. */
  readonly distrustMs?: number | undefined;
}

/**
 * Connections that were idle for longer are closed: longer than the usual pause between requests, and shorter than the
 * keep-alive timeout of most servers.
 */
const idleTimeoutMs = 30_000;
/** Maximum idle connections per address; others are closed when their request ends. */
const maxIdle = 256;
const defaultDistrustMs = 10 * 60_000;
/** Upstreams come from the configuration, so there are few. */
const maxDistrusted = 1000;

export class ConnectionPool {
  readonly #options: PoolOptions;
  readonly #idle = new Map<string, UpstreamConnection[]>();
  /** When connections to an address are reused again, which sent an unsolicited response. */
  readonly #distrustedUntil = new Map<string, number>();
  #sweeping: ReturnType<typeof setInterval> | undefined;
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /**
   * The connection that was used last (LIFO): it is the most likely to be still open. It is taken after the event loop
   * has read all sockets once: bytes that wait on an idle connection have then closed it. Without that, a client's
   * request could be written before an upstream's socket is read that became readable in the same turn.
   */
  takeIdle(key: string, taken: (idle: UpstreamConnection | undefined) => void): void {
    if (!this.#idle.get(key)?.length) taken(undefined);
    else void nextTurn().then(() => taken(this.#takeIdle(key)));
  }

  #takeIdle(key: string): UpstreamConnection | undefined {
    const idle = this.#idle.get(key);
    let connection = idle?.pop();
    while (connection?.closed) connection = idle?.pop();
    if (!connection || connection.idleSince + idleTimeoutMs > this.#options.clock()) {
      return connection;
    }
    connection.close();
    return undefined;
  }

  /** Opens a connection. Throws NotConnected. */
  open(key: string, address: Address): Promise<UpstreamConnection> {
    return UpstreamConnection.open(address, {
      onUnsolicited: (responses) => this.#onUnsolicited(key, responses),
    });
  }

  /** `responses`: on the connection. The response to its first request is certain: the connection was new. */
  #onUnsolicited(address: string, responses: number): void {
    const { clock, distrustMs = defaultDistrustMs, onUnsolicited } = this.#options;
    for (const connection of this.#idle.get(address)?.splice(0) ?? []) connection.close();
    if (this.#distrustedUntil.size >= maxDistrusted) this.#distrustedUntil.clear();
    this.#distrustedUntil.set(address, clock() + distrustMs);
    onUnsolicited?.({ address, earlierResponsesSuspect: responses > 1 });
  }

  /** Returns a connection whose request has ended to the pool. */
  release(key: string, connection: UpstreamConnection): void {
    if (connection.closed) return;
    const now = this.#options.clock();
    let idle = this.#idle.get(key);
    if (!idle) {
      idle = [];
      this.#idle.set(key, idle);
    }
    const isDistrusted = (this.#distrustedUntil.get(key) ?? now) > now;
    // A request may end after the HTTP client was closed.
    if (this.#closed || idle.length >= maxIdle || isDistrusted) {
      connection.close();
      return;
    }
    connection.idleSince = now;
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
    const { clock } = this.#options;
    this.#sweeping ??= setInterval(() => {
      const before = clock() - idleTimeoutMs;
      for (const [key, idle] of this.#idle) {
        const kept = idle.filter((connection) => {
          if (connection.idleSince < before) connection.close();
          return !connection.closed;
        });
        if (kept.length > 0) this.#idle.set(key, kept);
        else this.#idle.delete(key);
      }
      if (this.#idle.size > 0) return;
      clearInterval(this.#sweeping);
      this.#sweeping = undefined;
    }, idleTimeoutMs / 4).unref();
  }
}
