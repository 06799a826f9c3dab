/**
 * Connection limit (max connections). For the first request of a connection beyond the maximum (a surplus connection),
 * the longest idle connection is closed. If none is idle, the surplus connection gets 503 and is closed; only probes
 * are served on it.
 */

import { SpareDescriptors } from "../../lib/descriptors.ts";
import type { ConnectionCounts, HttpServerOptions } from "./http-server.ts";

/**
 * The most surplus connections: each waits for its request head, serves a probe, or waits until the client has read a
 * refusal.
 */
const maxSurplus = 64;
/**
 * How long a surplus connection may take for its request head. Checks are a second apart: with less than that, the
 * second check ends the wait.
 */
const surplusMs = 900;
/** Minimum interval between two reports. */
const reportMs = 5000;

/** The members of a connection that the limit uses. */
export interface LimitedConnection {
  /** No request head has arrived since the connection was opened, or since its last response. */
  readonly isAwaitingRequest: boolean;
  /** Sends 503, and closes when the client has read it. */
  refuse(): void;
  close(): void;
}

export class ConnectionLimit<C extends LimitedConnection> {
  readonly #max: number;
  readonly #report: HttpServerOptions["onConnectionsRefused"];
  readonly #open = new Set<C>();
  /** Surplus connections, the oldest first, and when a check first found each of them. */
  readonly #surplus = new Map<C, number | undefined>();
  /** Other connections without a request in flight, the longest idle first. */
  readonly #idle = new Set<C>();
  readonly #spares = new SpareDescriptors();
  #outOfDescriptors = false;
  /** Since the start, and in the last report. */
  #refused = 0;
  #evicted = 0;
  #reported = { at: Number.NEGATIVE_INFINITY, refused: 0, evicted: 0 };

  constructor(max: number, report: HttpServerOptions["onConnectionsRefused"]) {
    this.#max = max;
    this.#report = report;
    this.#spares.hold();
  }

  get open(): ReadonlySet<C> {
    return this.#open;
  }

  get counts(): ConnectionCounts {
    return {
      open: this.#open.size,
      max: this.#max,
      refused: this.#refused,
      evicted: this.#evicted,
    };
  }

  /** Adds a new connection. While the process is out of descriptors, it is refused and closed immediately. */
  add(connection: C): void {
    this.#open.add(connection);
    if (!this.#outOfDescriptors && this.#open.size - this.#surplus.size <= this.#max) {
      this.#idle.add(connection);
      return;
    }
    const [oldest] = this.#surplus.keys();
    // The oldest one is closed for the new one, so that a flood of connections does not lock out probes.
    if (oldest && this.#surplus.size >= maxSurplus) this.#dropSurplus(oldest);
    this.#surplus.set(connection, undefined);
    if (this.#outOfDescriptors) this.#dropSurplus(connection);
  }

  /** A request head has arrived: whether the request is served. Until its response is sent, the connection is not idle. */
  admit(connection: C): boolean {
    this.#idle.delete(connection);
    if (!this.#surplus.has(connection)) return true;
    if (this.#outOfDescriptors) return false;
    const hasCapacity = this.#open.size - this.#surplus.size < this.#max;
    if (!hasCapacity && !this.#evictIdle()) return false;
    this.#surplus.delete(connection);
    return true;
  }

  /** The connection has sent a response, or has received the first bytes of a request head. */
  becameIdle(connection: C): void {
    if (this.#surplus.has(connection)) return;
    this.#idle.delete(connection);
    this.#idle.add(connection);
  }

  countRefused(): void {
    this.#refused++;
  }

  delete(connection: C): void {
    this.#open.delete(connection);
    this.#surplus.delete(connection);
    this.#idle.delete(connection);
  }

  /** Called about once a second. */
  check(now: number): void {
    const wasOut = this.#outOfDescriptors;
    this.#outOfDescriptors = !this.#spares.hold();
    if (this.#outOfDescriptors) {
      for (let at = 0; at < maxSurplus; at++) if (!this.#evictIdle()) break;
    }
    for (const [connection, since] of this.#surplus) {
      if (since === undefined) this.#surplus.set(connection, now);
      else if (now - since >= surplusMs && connection.isAwaitingRequest) connection.refuse();
    }
    this.#reportChanges(now, this.#outOfDescriptors && !wasOut);
  }

  close(): void {
    this.#spares.release();
  }

  /** Closes the connection that has been idle for longest. False if none is idle. */
  #evictIdle(): boolean {
    const [longest] = this.#idle;
    if (!longest) return false;
    this.#evicted++;
    longest.close();
    this.delete(longest);
    return true;
  }

  #dropSurplus(connection: C): void {
    if (connection.isAwaitingRequest) connection.refuse();
    connection.close();
    this.delete(connection);
  }

  /** Every few seconds at most. A shortage of descriptors is reported at once. */
  #reportChanges(now: number, shortageBegins: boolean): void {
    const { at, refused, evicted } = this.#reported;
    const hasChanged = this.#refused !== refused || this.#evicted !== evicted;
    if (!shortageBegins && (!hasChanged || now - at < reportMs)) return;
    this.#reported = { at: now, refused: this.#refused, evicted: this.#evicted };
    this.#report({
      ...this.counts,
      outOfDescriptors: this.#outOfDescriptors,
      refused: this.#refused - refused,
      evicted: this.#evicted - evicted,
    });
  }
}
