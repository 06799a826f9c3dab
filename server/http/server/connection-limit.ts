/**
 * Connection limit: bounds the open connections and evicts some for new ones. A connection beyond the maximum (a
 * surplus connection) is read up to the end of its first request head. Then it is served in place of an evicted
 * connection, or refused; probes are served in any case.
 */

import { SpareDescriptors } from "../../lib/descriptors.ts";
import { ConnectionCounters } from "./connection-counters.ts";
import {
  ConnectionHolders,
  countWaiting,
  type HeldConnection,
  type Holder,
  takeWaiting,
} from "./connection-holders.ts";
import type { ConnectionCounts, ConnectionReport } from "./http-server.ts";

/**
 * The most surplus connections: each waits for its request head, serves a probe, or waits until the client has read a
 * refusal.
 */
const maxSurplus = 64;
/**
 * Only connections that were idle or silent for this long are evicted: others may be about to send a request or more of
 * a body.
 */
const evictedAfterMs = 1000;

/** The properties of a connection that the limit reads. */
export interface LimitedConnection extends HeldConnection {
  readonly isAwaitingBody: boolean;
  abandonBody(): void;
  drop(): void;
  /** The request of this connection, which waited, is served now. */
  resume(): void;
}

export class ConnectionLimit<C extends LimitedConnection> {
  readonly #max: number;
  readonly #counters: ConnectionCounters;
  readonly #open = new Set<C>();
  readonly #surplus = new Set<C>();
  /** Surplus connections whose request waits for capacity, with their holders, in the order of arrival. */
  readonly #waiting = new Map<C, Holder>();
  /** Connections that close after their current or next response, to free capacity for a waiting one. */
  readonly #closing = new Set<C>();
  readonly #spares = new SpareDescriptors();
  /** Idle connections, the longest idle last. Rebuilt at most once per check. */
  #idle: C[] | undefined;
  /** The holders of all connections except surplus ones. Absent while the maximum is not reached. */
  #holders: ConnectionHolders<C> | undefined;
  #now: number;
  #outOfDescriptors = false;

  constructor(max: number, now: number, report: (report: ConnectionReport) => void) {
    this.#max = max;
    this.#now = now;
    this.#counters = new ConnectionCounters(report);
    this.#spares.hold();
  }

  get open(): ReadonlySet<C> {
    return this.#open;
  }

  get counts(): ConnectionCounts {
    return {
      open: this.#open.size,
      max: this.#max,
      refused: this.#counters.refused,
      evicted: this.#counters.evicted,
    };
  }

  /**
   * Adds a new connection. `surplus`: the connection exceeds the maximum, and `admit` decides when its head has
   * arrived; `close`: the connection has to be refused and closed immediately.
   */
  add(connection: C): "serve" | "surplus" | "close" {
    this.#open.add(connection);
    if (this.#outOfDescriptors) return "close";
    if (!this.#isOver()) {
      this.#holders?.set(connection, connection.holder);
      return "serve";
    }
    if (!this.#hasSurplusCapacity()) return "close";
    this.#surplus.add(connection);
    return "surplus";
  }

  /**
   * Decides whether a surplus connection with a request of `holder` is served, and evicts another connection for it: a
   * connection that has been idle for a second, or else, of the largest holder, one on which the server waits for the
   * client.
   */
  admit(connection: C, holder: Holder): boolean {
    this.#surplus.delete(connection);
    const isAdmitted =
      !this.#outOfDescriptors &&
      (!this.#isOver() || this.#evictIdle(connection) || this.#evictForHolder(connection, holder));
    if (isAdmitted) this.#holders?.set(connection, holder);
    else this.#surplus.add(connection);
    return isAdmitted;
  }

  /**
   * Whether a request that was not admitted may wait for capacity. It may if another holder has more connections than
   * this holder will have: then one connection of that holder closes after its response. Without this, a client that
   * sends requests without a pause would hold its connections for ever.
   */
  wait(connection: C, holder: Holder): boolean {
    if (this.#outOfDescriptors) return false;
    const holders = this.#heldConnections();
    const share = holders.count(holder) + countWaiting(this.#waiting, holder) + 1;
    const closing = holders.selectToClose(
      (other, connections) =>
        connections - this.#closingOf(other) > share && mayDisplace(holder, other),
      (each) => this.#closing.has(each),
    );
    if (!closing) return false;
    this.#closing.add(closing);
    this.#waiting.set(connection, holder);
    return true;
  }

  /** The request does not wait any longer. */
  stopWaiting(connection: C): void {
    this.#waiting.delete(connection);
  }

  /** Whether the connection has to close after its response. */
  mustClose(connection: C): boolean {
    return this.#closing.has(connection);
  }

  /** The connection has sent its last response. It frees capacity although its client has not closed it yet. */
  lastResponseSent(connection: C): void {
    if (!this.#closing.has(connection) || this.#surplus.size >= maxSurplus) return;
    this.#closing.delete(connection);
    this.#counters.evicted++;
    this.#holders?.delete(connection);
    this.#surplus.add(connection);
    this.#serveWaiting();
  }

  /** While the maximum is reached, notes the holder of each request that begins. */
  requestBegan(connection: C): void {
    if (this.#holders && !this.#surplus.has(connection)) {
      this.#holders.set(connection, connection.holder);
    }
  }

  countRefused(): void {
    this.#counters.refused++;
  }

  delete(connection: C): void {
    this.#open.delete(connection);
    this.#surplus.delete(connection);
    this.#holders?.delete(connection);
    this.#waiting.delete(connection);
    this.#closing.delete(connection);
    this.#serveWaiting();
  }

  /** Called about once a second. */
  check(now: number): void {
    this.#now = now;
    this.#idle = undefined;
    this.#outOfDescriptors = !this.#spares.hold();
    if (this.#outOfDescriptors) {
      for (let at = 0; at < maxSurplus; at++) if (!this.#evictSilent()) break;
    }
    if (this.#open.size - this.#surplus.size < this.#max) this.#holders = undefined;
    if (this.#waiting.size === 0) this.#closing.clear();
    this.#counters.check(now, {
      open: this.#open.size,
      max: this.#max,
      outOfDescriptors: this.#outOfDescriptors,
    });
  }

  close(): void {
    this.#spares.release();
  }

  #isOver(): boolean {
    return this.#open.size - this.#surplus.size > this.#max;
  }

  /**
   * Closes the connection that has been idle for longest, and for a second at least. Never the new connection, which is
   * idle as well until its request begins.
   */
  #evictIdle(newcomer?: C): boolean {
    this.#idle ??= [...this.#open]
      .filter((connection) => connection !== newcomer && this.#isLongIdle(connection))
      .sort((a, b) => b.lastActivityAt - a.lastActivityAt);
    for (;;) {
      const longest = this.#idle.pop();
      if (!longest) return false;
      // The connection may have been used or closed since the list was made.
      if (!this.#isLongIdle(longest)) continue;
      this.#evict(longest);
      return true;
    }
  }

  #isLongIdle(connection: C): boolean {
    return (
      connection.isIdle &&
      this.#open.has(connection) &&
      !this.#surplus.has(connection) &&
      connection.lastActivityAt <= this.#now - evictedAfterMs
    );
  }

  /**
   * Frees capacity for a new connection at the expense of a holder with more connections. Afterwards the new
   * connection's holder must not have more connections than the other holder, or the two would evict each other in
   * turns.
   */
  #evictForHolder(newcomer: C, holder: Holder): boolean {
    const holders = this.#heldConnections();
    holders.delete(newcomer);
    const share = holders.count(holder) + 1;
    return this.#evictHeld(
      (other, connections) => connections > share && mayDisplace(holder, other),
    );
  }

  /** Closes a connection that has neither received nor sent bytes for a second. */
  #evictSilent(): boolean {
    return this.#evictIdle() || this.#evictHeld(() => false);
  }

  #evictHeld(isOverShare: (holder: Holder, connections: number) => boolean): boolean {
    const silentSince = this.#now - evictedAfterMs;
    const victim = this.#heldConnections().selectVictim(silentSince, isOverShare);
    if (victim) this.#evict(victim);
    return victim !== undefined;
  }

  #heldConnections(): ConnectionHolders<C> {
    this.#holders ??= new ConnectionHolders(this.#open.difference(this.#surplus));
    return this.#holders;
  }

  /** How many connections of a holder close after their response. */
  #closingOf(holder: Holder): number {
    let count = 0;
    for (const each of this.#closing) if (this.#holders?.holderOf(each) === holder) count++;
    return count;
  }

  /** Serves waiting requests while there is capacity. */
  #serveWaiting(): void {
    while (this.#waiting.size > 0 && this.#open.size - this.#surplus.size < this.#max) {
      const holders = this.#heldConnections();
      const next = takeWaiting(this.#waiting, (holder) => holders.count(holder));
      if (!next) return;
      const [connection, holder] = next;
      this.#surplus.delete(connection);
      holders.set(connection, holder);
      connection.resume();
    }
  }

  #evict(connection: C): void {
    this.#counters.evicted++;
    this.#holders?.delete(connection);
    if (connection.isAwaitingBody && this.#hasSurplusCapacity()) {
      // The connection stays open as a surplus connection until its client has read the response.
      this.#surplus.add(connection);
      connection.abandonBody();
    } else {
      connection.drop();
      this.delete(connection);
    }
  }

  /**
   * Frees capacity for one more surplus connection. At the maximum, a surplus connection that waits for its client is
   * closed: the oldest of the address with the most surplus connections. So a flood of connections does not lock out
   * probes. False: there is no connection to close.
   */
  #hasSurplusCapacity(): boolean {
    if (this.#surplus.size < maxSurplus) return true;
    const victim = new ConnectionHolders(this.#surplus).selectVictim(this.#now, () => true);
    if (!victim) return false;
    victim.drop();
    this.delete(victim);
    return true;
  }
}

/** A client without a valid API key must not end the requests of a key: otherwise anyone could. */
const mayDisplace = (holder: Holder, other: Holder): boolean => isKey(holder) || !isKey(other);

const isKey = (holder: Holder): boolean => holder.startsWith("key ");
