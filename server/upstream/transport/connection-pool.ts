/** Connection pool: idle keep-alive connections, by address. */
import type { Connection } from "./connection.ts";
import type { KeepAliveTrust } from "./keep-alive-trust.ts";

/** Longer than callers pause, shorter than most servers keep a silent connection. */
const keepMs = 30_000;
/** Maximum idle connections per address; others are closed when their request ends. */
const mostIdle = 256;

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

  /** The connection that was used last (LIFO): it is the most likely to be open still. */
  idle(place: string): Connection | undefined {
    const waiting = this.#idle.get(place);
    if (!waiting) return undefined;
    let connection = waiting.pop();
    while (connection && !connection.isReady()) connection = waiting.pop();
    return connection;
  }

  /** Bytes came on a connection to this place that no request asked for: those to the same place carry no more. */
  unsolicited(place: string, answered: number): void {
    for (const connection of this.#idle.get(place)?.splice(0) ?? []) connection.close();
    this.#trust.lose(place, answered);
  }

  /** Returns a connection whose request has ended to the pool. */
  keep(place: string, connection: Connection): void {
    if (connection.closed) return;
    let waiting = this.#idle.get(place);
    if (!waiting) {
      waiting = [];
      this.#idle.set(place, waiting);
    }
    // A request may end after the HTTP client was closed.
    if (this.#closed || waiting.length >= mostIdle || !this.#trust.has(place)) {
      connection.close();
      return;
    }
    connection.idleSince = this.#clock();
    waiting.push(connection);
    this.#sweep();
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#sweeping);
    this.#sweeping = undefined;
    for (const waiting of this.#idle.values()) for (const one of waiting) one.close();
    this.#idle.clear();
  }

  /** Runs while there are idle connections. */
  #sweep(): void {
    this.#sweeping ??= setInterval(() => {
      const before = this.#clock() - keepMs;
      for (const [place, waiting] of this.#idle) {
        const kept = waiting.filter((one) => {
          if (one.idleSince < before) one.close();
          return !one.closed;
        });
        if (kept.length > 0) this.#idle.set(place, kept);
        else this.#idle.delete(place);
      }
      if (this.#idle.size > 0) return;
      clearInterval(this.#sweeping);
      this.#sweeping = undefined;
    }, keepMs / 4).unref();
  }
}
