/** Holds the current config snapshot. A request reads it once and keeps that snapshot until it ends. */
import type { Snapshot } from "../snapshot.ts";

export class SnapshotHolder {
  #current: Snapshot;
  readonly #subscribers: (() => void)[] = [];

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
    for (const notify of this.#subscribers) {
      try {
        notify();
      } catch (error) {
        // The other subscribers are notified nevertheless.
        thrown.push(error);
      }
    }
    if (thrown.length > 0) throw new AggregateError(thrown, "a snapshot subscriber threw");
    return now;
  }

  /** Calls `subscriber` after each replacement. */
  subscribe(subscriber: () => void): void {
    this.#subscribers.push(subscriber);
  }
}
