/**
 * An immutable map whose copies share all entries but those of the buckets that change: a change of one of 100,000
 * entries copies a few hundred. Its order is that of the buckets.
 */

const bucketCount = 512;

const bucketOf = (key: string): number => {
  let hash = 0;
  // The first characters of ids are often the same.
  for (let at = Math.max(0, key.length - 6); at < key.length; at++)
    hash = (hash * 31 + key.charCodeAt(at)) | 0;
  return (hash ^ (hash >>> 9)) & (bucketCount - 1);
};

type Bucket<V> = ReadonlyMap<string, V>;

const emptyBuckets = Array.from({ length: bucketCount }, () => new Map<string, never>());

export class BucketMap<V> {
  readonly size: number;
  readonly #buckets: readonly Bucket<V>[];

  static readonly empty = new BucketMap<never>(emptyBuckets, 0);

  private constructor(buckets: readonly Bucket<V>[], size: number) {
    this.#buckets = buckets;
    this.size = size;
  }

  get(key: string): V | undefined {
    return this.#buckets[bucketOf(key)]?.get(key);
  }

  has(key: string): boolean {
    return this.#buckets[bucketOf(key)]?.has(key) ?? false;
  }

  *values(): Generator<V> {
    for (const bucket of this.#buckets) yield* bucket.values();
  }

  /** A value of undefined removes the entry. */
  with(changes: Iterable<readonly [string, V | undefined]>): BucketMap<V> {
    const buckets = [...this.#buckets];
    const copied = new Map<number, Map<string, V>>();
    let { size } = this;
    for (const [key, value] of changes) {
      const at = bucketOf(key);
      let bucket = copied.get(at);
      if (!bucket) {
        bucket = new Map(buckets[at]);
        copied.set(at, bucket);
        buckets[at] = bucket;
      }
      size -= bucket.size;
      if (value === undefined) bucket.delete(key);
      else bucket.set(key, value);
      size += bucket.size;
    }
    return new BucketMap(buckets, size);
  }
}
