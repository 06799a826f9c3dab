/**
 * Connection pool: idle keep-alive connections for reuse, by scheme, host and port, and the upstreams whose connections
 * are not reused. A new connection resolves the host name through Bun's cache, which keeps names for seconds
 * (bin/environment.json). The pool bounds idle connections only: concurrency limits bound the open ones.
 */
import { type Address, UpstreamConnection } from "./connection.ts";

interface PoolOptions {
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  readonly reuseBlocks: ReuseBlocks;
}

/**
 * Connections that were idle for longer are closed: longer than the usual pause between requests, and shorter than the
 * keep-alive timeout of most servers.
 */
const idleTimeoutMs = 30_000;
/** Maximum idle connections per address; others are closed when their request ends. */
const maxIdle = 256;

export class ConnectionPool {
  readonly #options: PoolOptions;
  readonly #idle = new Map<string, UpstreamConnection[]>();
  #sweeping: ReturnType<typeof setInterval> | undefined;
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** The connection that was used last (LIFO): it is the most likely to be still open. */
  takeIdle(key: string): UpstreamConnection | undefined {
    const { clock, reuseBlocks } = this.#options;
    const idle = this.#idle.get(key);
    if (!idle || !reuseBlocks.mayReuse(key)) return undefined;
    let connection = idle.pop();
    while (connection && !connection.isReady()) connection = idle.pop();
    if (!connection || connection.idleSince + idleTimeoutMs > clock()) return connection;
    connection.close();
    return undefined;
  }

  /** Opens a connection. Throws NotConnected. */
  open(key: string, address: Address): Promise<UpstreamConnection> {
    return UpstreamConnection.open(address, {
      onUnsolicited: (responses) => this.#onUnsolicited(key, responses),
    });
  }

  /**
   * An unsolicited response came from this address: its idle connections are closed, and it loses keep-alive for a
   * while.
   */
  #onUnsolicited(key: string, responses: number): void {
    for (const connection of this.#idle.get(key)?.splice(0) ?? []) connection.close();
    this.#options.reuseBlocks.block(key, responses);
  }

  /** Returns a connection whose request has ended to the pool. */
  release(key: string, connection: UpstreamConnection): void {
    if (connection.closed) return;
    const { clock, reuseBlocks } = this.#options;
    let idle = this.#idle.get(key);
    if (!idle) {
      idle = [];
      this.#idle.set(key, idle);
    }
    // A request may end after the HTTP client was closed.
    if (this.#closed || idle.length >= maxIdle || !reuseBlocks.mayReuse(key)) {
      connection.close();
      return;
    }
    connection.idleSince = clock();
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

export interface Unsolicited {
  /** Host and port of the upstream. */
  readonly address: string;
  /** Responses that were delivered before on the same connection may have belonged to other requests. */
  readonly earlierResponsesSuspect: boolean;
}

interface ReuseBlocksOptions {
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  readonly onUnsolicited?: (event: Unsolicited) => void;
}

const blockMs = 10 * 60_000;
/** Upstreams come from the configuration, so there are few. */
const maxAddresses = 1000;

/**
 * The upstreams whose connections are not reused for a while, because one of them sent an unsolicited response. HTTP/1.1
 * does not say which request a response belongs to: after one unsolicited response, each request on the connection could
 * get the response of the one before it.
 */
export class ReuseBlocks {
  readonly #options: ReuseBlocksOptions;
  /** When the connections of each address are reused again. */
  readonly #until = new Map<string, number>();

  constructor(options: ReuseBlocksOptions) {
    this.#options = options;
  }

  /** Whether a connection to this address may be reused. */
  mayReuse(address: string): boolean {
    if (this.#until.size === 0) return true;
    const until = this.#until.get(address);
    if (until === undefined) return true;
    if (until > this.#options.clock()) return false;
    this.#until.delete(address);
    return true;
  }

  /**
   * An unsolicited response arrived. `responses`: the number of responses on the connection. The response to its first
   * request is certain: the connection was new.
   */
  block(address: string, responses: number): void {
    if (this.#until.size >= maxAddresses) this.#until.clear();
    this.#until.set(address, this.#options.clock() + blockMs);
    this.#options.onUnsolicited?.({ address, earlierResponsesSuspect: responses > 1 });
  }
}
