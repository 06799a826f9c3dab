/** Bounds the number of open connections, and answers those beyond it. */
import type { Connection } from "./connection.ts";
import { SpareDescriptors } from "./descriptors.ts";

/** Refused connections that are kept open until the client has read why. Beyond that they are closed at once. */
const mostRefusing = 64;
/** A connection that was idle or silent for less may be about to send its next request, or more of its body. */
const evictedAfterMs = 1000;
/** Between two lines in the log. */
const reportMs = 5000;

export interface ConnectionCounts {
  readonly open: number;
  readonly max: number;
  /** Since the start. */
  readonly refused: number;
  /** Idle connections, and those whose body did not arrive, that were closed to make room, since the start. */
  readonly evicted: number;
}

/** For the log: what happened since the last report. */
export interface ConnectionReport extends ConnectionCounts {
  /** The process has no file descriptor left. */
  readonly outOfDescriptors: boolean;
}

type Member = Pick<
  Connection,
  "isIdle" | "isAwaitingBody" | "since" | "owner" | "end" | "giveUpBody"
>;

export class ConnectionLimit<C extends Member> {
  readonly #max: number;
  readonly #report: (report: ConnectionReport) => void;
  readonly #open = new Set<C>();
  readonly #refusing = new Set<C>();
  readonly #spares = new SpareDescriptors();
  /** Idle connections, the longest idle last. Made new when it is empty, at most once per check. */
  #idle: C[] | undefined;
  /** Connections whose body does not arrive, the next to be evicted last. Made new like `#idle`. */
  #silent: C[] | undefined;
  #now: number;
  #reportedAt = Number.NEGATIVE_INFINITY;
  #reported = { refused: 0, evicted: 0 };
  #refused = 0;
  #evicted = 0;
  #outOfDescriptors = false;

  constructor(max: number, now: number, report: (report: ConnectionReport) => void) {
    this.#max = max;
    this.#now = now;
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

  /**
   * Adds a new connection. `refuse`: it is one too many, and stays open until the client has read the refusal; `close`:
   * it has to be closed at once.
   */
  add(connection: C): "serve" | "refuse" | "close" {
    this.#open.add(connection);
    const isFull = this.#open.size - this.#refusing.size > this.#max;
    if (!this.#outOfDescriptors && (!isFull || this.#evict())) return "serve";
    this.#refused++;
    if (this.#outOfDescriptors || this.#refusing.size >= mostRefusing) return "close";
    this.#refusing.add(connection);
    return "refuse";
  }

  delete(connection: C): void {
    this.#open.delete(connection);
    this.#refusing.delete(connection);
  }

  /** Called about once a second. */
  check(now: number): void {
    this.#now = now;
    this.#idle = undefined;
    this.#silent = undefined;
    const wasOut = this.#outOfDescriptors;
    this.#outOfDescriptors = !this.#spares.hold();
    if (this.#outOfDescriptors) for (let at = 0; at < mostRefusing; at++) this.#evict();
    const begins = this.#outOfDescriptors && !wasOut;
    const { refused, evicted } = this.#reported;
    if (!begins && this.#refused === refused && this.#evicted === evicted) return;
    if (!begins && now - this.#reportedAt < reportMs) return;
    this.#reportedAt = now;
    this.#reported = { refused: this.#refused, evicted: this.#evicted };
    this.#report({
      open: this.#open.size,
      max: this.#max,
      refused: this.#refused - refused,
      evicted: this.#evicted - evicted,
      outOfDescriptors: this.#outOfDescriptors,
    });
  }

  close(): void {
    this.#spares.release();
  }

  /** Makes room for one connection. False where every connection was used in the last second. */
  #evict(): boolean {
    return this.#evictIdle() || this.#evictSilent();
  }

  /** Closes the connection that was idle for longest. */
  #evictIdle(): boolean {
    this.#idle ??= [...this.#open]
      .filter((connection) => connection.isIdle && this.#isEvictable(connection))
      .sort((a, b) => b.since - a.since);
    for (;;) {
      const longest = this.#idle.pop();
      if (!longest) return false;
      // It may have been used or closed since the list was made.
      if (!longest.isIdle || !this.#isEvictable(longest)) continue;
      this.#evicted++;
      longest.end();
      this.delete(longest);
      return true;
    }
  }

  /**
   * Gives up the request whose body has been silent for longest, among those of the API key with the most of them: one
   * key must not lock out the others with bodies that never end.
   */
  #evictSilent(): boolean {
    this.#silent ??= this.#silentByOwner();
    for (;;) {
      const longest = this.#silent.pop();
      if (!longest) return false;
      if (!longest.isAwaitingBody || !this.#isEvictable(longest)) continue;
      this.#evicted++;
      longest.giveUpBody();
      // It stays open until the client has read the response, where there is a place for that.
      if (this.#refusing.size < mostRefusing) {
        this.#refusing.add(longest);
      } else {
        longest.end();
        this.delete(longest);
      }
      return true;
    }
  }

  #silentByOwner(): C[] {
    const silent = [...this.#open].filter(
      (connection) => connection.isAwaitingBody && this.#isEvictable(connection),
    );
    const byOwner = Map.groupBy(silent, ({ owner }) => owner);
    return [...byOwner.values()]
      .sort((a, b) => a.length - b.length)
      .flatMap((connections) => connections.sort((a, b) => b.since - a.since));
  }

  /** Not used for a moment, and not on its way out already. */
  #isEvictable(connection: C): boolean {
    return (
      this.#open.has(connection) &&
      !this.#refusing.has(connection) &&
      this.#now - connection.since >= evictedAfterMs
    );
  }
}
