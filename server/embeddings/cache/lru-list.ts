/**
 * A doubly linked list of cache entries by their last use (LRU). A Map is not enough: it is in insertion order, but
 * reading the first key after many deletions steps over all of them, and an entry cannot be inserted at the old end.
 */

export interface LruEntry<E> {
  /** The bytes of the entry. */
  readonly bytes: number;
  newer: E | undefined;
  older: E | undefined;
}

export class LruList<E extends LruEntry<E>> {
  newest: E | undefined;
  oldest: E | undefined;
  bytes = 0;

  addNewest(entry: E): void {
    entry.newer = undefined;
    entry.older = this.newest;
    if (this.newest) this.newest.newer = entry;
    else this.oldest = entry;
    this.newest = entry;
    this.bytes += entry.bytes;
  }

  addOldest(entry: E): void {
    entry.older = undefined;
    entry.newer = this.oldest;
    if (this.oldest) this.oldest.older = entry;
    else this.newest = entry;
    this.oldest = entry;
    this.bytes += entry.bytes;
  }

  remove(entry: E): void {
    const { newer, older } = entry;
    if (newer) newer.older = older;
    else this.newest = older;
    if (older) older.newer = newer;
    else this.oldest = newer;
    this.bytes -= entry.bytes;
  }
}
