/**
 * Persistent (immutable) map with structural sharing: a change copies one bucket of about a thousandth of the entries
 * and shares the others with the previous map. Both maps stay valid, and their differences are found without reading
 * all entries.
 */

/** A power of two. With 100,000 entries a bucket has about a hundred. */
const bucketCount = 1024;

type Bucket<V> = ReadonlyMap<string, V>;

export class PersistentMap<V> implements ReadonlyMap<string, V> {
  readonly #buckets: readonly Bucket<V>[];
  readonly size: number;

  private constructor(buckets: readonly Bucket<V>[], size: number) {
    this.#buckets = buckets;
    this.size = size;
    Object.freeze(this);
  }

  static empty<V>(): PersistentMap<V> {
    return new PersistentMap<V>(new Array<Bucket<V>>(bucketCount).fill(new Map()), 0);
  }

  get(key: string): V | undefined {
    return this.#buckets[bucketOf(key)]?.get(key);
  }

  has(key: string): boolean {
    return this.#buckets[bucketOf(key)]?.has(key) ?? false;
  }

  /** The map with these entries set; an entry whose value is undefined is removed. */
  with(changes: Iterable<readonly [key: string, value: V | undefined]>): PersistentMap<V> {
    const copies = new Map<number, Map<string, V>>();
    const copyOf = (at: number): Map<string, V> => {
      const copy = copies.get(at) ?? new Map(this.#buckets[at]);
      copies.set(at, copy);
      return copy;
    };
    let size = this.size;
    for (const [key, value] of changes) {
      const bucket = copyOf(bucketOf(key));
      size -= bucket.size;
      if (value === undefined) bucket.delete(key);
      else bucket.set(key, value);
      size += bucket.size;
    }
    if (copies.size === 0) return this;
    const buckets = [...this.#buckets];
    for (const [at, copy] of copies) buckets[at] = copy;
    return new PersistentMap(buckets, size);
  }

  /** The keys whose values differ from those in `before`, and the keys that only one of the two maps has. */
  changedKeys(before: PersistentMap<V>): string[] {
    const changed: string[] = [];
    for (const [at, bucket] of this.#buckets.entries()) {
      const old = before.#buckets[at];
      if (old === bucket || old === undefined) continue;
      for (const [key, value] of bucket) if (old.get(key) !== value) changed.push(key);
      for (const key of old.keys()) if (!bucket.has(key)) changed.push(key);
    }
    return changed;
  }

  forEach(visit: (value: V, key: string, map: ReadonlyMap<string, V>) => void): void {
    for (const [key, value] of this) visit(value, key, this);
  }

  *entries(): MapIterator<[string, V]> {
    for (const bucket of this.#buckets) yield* bucket.entries();
  }

  *keys(): MapIterator<string> {
    for (const bucket of this.#buckets) yield* bucket.keys();
  }

  *values(): MapIterator<V> {
    for (const bucket of this.#buckets) yield* bucket.values();
  }

  [Symbol.iterator](): MapIterator<[string, V]> {
    return this.entries();
  }
}

const bucketOf = (key: string): number => Bun.hash.cityHash32(key) & (bucketCount - 1);
