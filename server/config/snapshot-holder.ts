/** Holds the current config snapshot. A request reads it once and keeps that snapshot until it ends. */
import type { Snapshot } from "./snapshot.ts";

export type Subscriber = (now: Snapshot, before: Snapshot) => void;

export class SnapshotHolder {
  #current: Snapshot;
  readonly #subscribers = new Set<Subscriber>();

  constructor(first: Snapshot) {
    this.#current = first;
  }

  current = (): Snapshot => this.#current;

  /** Atomic: the new snapshot is built completely, then assigned. If `make` throws, the old one stays. */
  replace(make: (current: Snapshot) => Snapshot): Snapshot {
    const before = this.#current;
    const now = make(before);
    if (now === before) return before;
    this.#current = now;
    const thrown: unknown[] = [];
    for (const notify of [...this.#subscribers]) {
      try {
        notify(now, before);
      } catch (error) {
        // The other subscribers are notified nevertheless.
        thrown.push(error);
      }
    }
    if (thrown.length > 0) throw new AggregateError(thrown, "a snapshot subscriber threw");
    return now;
  }

  /** Notifies `subscriber` after each replacement. Returns the function that unsubscribes it. */
  subscribe(subscriber: Subscriber): () => void {
    this.#subscribers.add(subscriber);
    return () => void this.#subscribers.delete(subscriber);
  }
}
