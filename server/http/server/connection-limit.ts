/**
 * Connection limit (max connections): up to the maximum, connections have a request in flight. A request beyond it gets
 * 503 and its connection is closed; only probes are served. Connections without a request are closed when there are too
 * many, the longest idle first.
 */

import { SpareDescriptors } from "../../lib/descriptors.ts";
import type { ConnectionCounts, HttpServerOptions } from "./http-server.ts";

/** Open connections beyond the maximum: those whose request is awaited, refused, or is a probe. */
const spareConnections = 64;
/** Minimum interval between two reports. */
const reportMs = 5000;

/** The members of a connection that the limit uses. */
export interface LimitedConnection {
  /** Sends 503, and closes when the client has read it. */
  refuse(): void;
  close(): void;
}

export class ConnectionLimit<C extends LimitedConnection> {
  readonly #max: number;
  readonly #report: HttpServerOptions["onConnectionsRefused"];
  readonly #open = new Set<C>();
  /** Connections that have no request in flight or were refused, the longest idle first. */
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
    this.#spares.open();
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
    if (this.#outOfDescriptors) {
      connection.refuse();
      connection.close();
      this.delete(connection);
      return;
    }
    this.#idle.add(connection);
    if (this.#open.size > this.#max + spareConnections) this.#evictIdle();
  }

  /** A request head has arrived: whether the request is served. Until its response is sent, the connection is not idle. */
  admit(connection: C): boolean {
    this.#idle.delete(connection);
    if (this.#open.size - this.#idle.size > this.#max) {
      this.#idle.add(connection);
      return false;
    }
    if (this.#open.size > this.#max) this.#evictIdle();
    return true;
  }

  /** The connection has sent a response, or has received the first bytes of a request head. */
  becameIdle(connection: C): void {
    this.#idle.delete(connection);
    this.#idle.add(connection);
  }

  countRefused(): void {
    this.#refused++;
  }

  delete(connection: C): void {
    this.#open.delete(connection);
    this.#idle.delete(connection);
  }

  /** Called about once a second. */
  check(now: number): void {
    const wasOut = this.#outOfDescriptors;
    this.#outOfDescriptors = !this.#spares.open();
    if (this.#outOfDescriptors) {
      for (let at = 0; at < spareConnections; at++) if (!this.#evictIdle()) break;
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
