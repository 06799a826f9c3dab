/**
 * Fair share of connections for each holder (an API key, or the address of clients without a valid key): selects the
 * connection to evict, and the waiting connection to serve next.
 */

/** The id of the API key of the connection's request, or the client's address if the request has no valid key. */
export type Holder = `key ${string}` | `address ${string}`;

export interface HeldConnection {
  readonly holder: Holder;
  /** The server waits for the client: for a request head, the rest of a body, or the end of a refused one. */
  readonly isAwaitingClient: boolean;
  /** No request is in flight. */
  readonly isIdle: boolean;
  /** The client reads its response more slowly than the minimum rate. */
  readonly isReadingSlowly: boolean;
  /** When bytes last moved, in milliseconds of the server's clock. */
  readonly lastActivityAt: number;
}

/** Counts connections by holder. It exists only while the table is full. */
export class ConnectionHolders<C extends HeldConnection> {
  readonly #connections = new Map<Holder, Set<C>>();
  readonly #holders = new Map<C, Holder>();

  constructor(connections: Iterable<C>) {
    for (const connection of connections) this.set(connection, connection.holder);
  }

  /** Adds a connection, or moves it to another holder. */
  set(connection: C, holder: Holder): void {
    if (this.#holders.get(connection) === holder) return;
    this.delete(connection);
    this.#holders.set(connection, holder);
    const connections = this.#connections.get(holder);
    if (connections) connections.add(connection);
    else this.#connections.set(holder, new Set([connection]));
  }

  delete(connection: C): void {
    const holder = this.#holders.get(connection);
    if (holder === undefined) return;
    this.#holders.delete(connection);
    const connections = this.#connections.get(holder);
    connections?.delete(connection);
    if (connections?.size === 0) this.#connections.delete(holder);
  }

  count(holder: Holder): number {
    return this.#connections.get(holder)?.size ?? 0;
  }

  /**
   * Selects the connection to evict: the holder with the most connections loses the one that has been silent for
   * longest. A connection that was active after `silentSince`, or whose client reads its response slowly, is evicted
   * only if `isOverShare` says that its holder has too many connections. Undefined if no connection may be evicted.
   * Examines each connection at most twice.
   */
  selectVictim(
    silentSince: number,
    isOverShare: (holder: Holder, connections: number) => boolean,
  ): C | undefined {
    let victim: C | undefined;
    let largest = 0;
    for (const [holder, connections] of this.#connections) {
      if (connections.size <= largest) continue;
      const isOver = isOverShare(holder, connections.size);
      let candidate = longestSilent(connections, (each) => each.isAwaitingClient);
      if (candidate && candidate.lastActivityAt > silentSince && !isOver) candidate = undefined;
      if (!candidate && isOver) {
        candidate = longestSilent(connections, (each) => each.isReadingSlowly);
      }
      if (!candidate) continue;
      victim = candidate;
      largest = connections.size;
    }
    return victim;
  }

  /**
   * Selects the connection that has to close after its response: of the largest holder that `isOverShare` accepts, the
   * idle connection that has been silent for longest, or any connection if none is idle.
   */
  selectToClose(
    isOverShare: (holder: Holder, connections: number) => boolean,
    isClosing: (connection: C) => boolean,
  ): C | undefined {
    let selected: C | undefined;
    let largest = 0;
    for (const [holder, connections] of this.#connections) {
      if (connections.size <= largest || !isOverShare(holder, connections.size)) continue;
      const candidate =
        longestSilent(connections, (each) => each.isIdle && !isClosing(each)) ??
        longestSilent(connections, (each) => !isClosing(each));
      if (!candidate) continue;
      selected = candidate;
      largest = connections.size;
    }
    return selected;
  }

  holderOf(connection: C): Holder | undefined {
    return this.#holders.get(connection);
  }
}

function longestSilent<C extends HeldConnection>(
  connections: Iterable<C>,
  isCandidate: (connection: C) => boolean,
): C | undefined {
  let longest: C | undefined;
  for (const connection of connections) {
    if (!isCandidate(connection)) continue;
    if (!longest || connection.lastActivityAt < longest.lastActivityAt) longest = connection;
  }
  return longest;
}

/** How many waiting connections belong to this holder. */
export function countWaiting(waiting: ReadonlyMap<unknown, Holder>, holder: Holder): number {
  let count = 0;
  for (const each of waiting.values()) if (each === holder) count++;
  return count;
}

/**
 * Takes the next waiting connection: the oldest connection of the holder with the fewest connections. The waiting
 * connections are in the order of arrival.
 */
export function takeWaiting<C>(
  waiting: Map<C, Holder>,
  connectionsOf: (holder: Holder) => number,
): readonly [C, Holder] | undefined {
  let next: readonly [C, Holder] | undefined;
  for (const each of waiting) {
    if (!next || connectionsOf(each[1]) < connectionsOf(next[1])) next = each;
  }
  if (next) waiting.delete(next[0]);
  return next;
}
