/**
 * Fair queue (round robin): API keys take turns, however many items each has queued. Within a key, the order is first
 * in, first out. The user of a queue bounds it: when it is full, `newestOfLargest` leaves.
 */
export class KeyTurns<T> {
  /** In the order of the keys' next turns. */
  readonly #byKey = new Map<string, T[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  has(key: string): boolean {
    return this.#byKey.has(key);
  }

  add(key: string, item: T): void {
    const items = this.#byKey.get(key);
    if (items) items.push(item);
    else this.#byKey.set(key, [item]);
    this.#size++;
  }

  /** Removes the first item that `isReady` accepts, in the order of turns. The next turn of its key is the last one. */
  next(isReady: (item: T) => boolean): T | undefined {
    for (const [key, items] of this.#byKey) {
      const item = items.find(isReady);
      if (item === undefined) continue;
      this.takeTurn(key, item);
      return item;
    }
    return undefined;
  }

  /** The first item that `isReady` accepts, in the order of turns. It stays in the queue until `takeTurn`. */
  find(isReady: (item: T) => boolean): T | undefined {
    for (const items of this.#byKey.values()) {
      const item = items.find(isReady);
      if (item !== undefined) return item;
    }
    return undefined;
  }

  /** Removes the item. The next turn of its key is the last one. */
  takeTurn(key: string, item: T): void {
    const items = this.#byKey.get(key);
    if (!this.remove(key, item) || !items) return;
    this.#byKey.delete(key);
    if (items.length > 0) this.#byKey.set(key, items);
  }

  /** False: the item is not in the queue. */
  remove(key: string, item: T): boolean {
    const items = this.#byKey.get(key);
    const at = items?.indexOf(item) ?? -1;
    if (!items || at < 0) return false;
    items.splice(at, 1);
    if (items.length === 0) this.#byKey.delete(key);
    this.#size--;
    return true;
  }

  /** The newest item of the key with the most items, among those that `mayLeave` accepts. */
  newestOfLargest(mayLeave: (item: T) => boolean = () => true): T | undefined {
    let most: T[] = [];
    for (const items of this.#byKey.values()) {
      const leaving = items.filter(mayLeave);
      if (leaving.length > most.length) most = leaving;
    }
    return most.at(-1);
  }

  /** All items, in no particular order. */
  *values(): Generator<T> {
    for (const items of this.#byKey.values()) yield* items;
  }
}
