/**
 * S3-FIFO (Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023), bounded by bytes, with one bit of
 * use for each entry. New entries wait in the small queue. An entry that was used by the time it reaches the front of a
 * queue moves to the end of the main queue, and any other entry is evicted. The main queue evicts only while the small
 * queue has at most its share, so a scan of many new keys evicts other new entries. A key that is set again soon
 * after its eviction enters the main queue at once, so a new working set replaces the earlier one.
 */

interface Node<V> {
  readonly key: string;
  value: V;
  bytes: number;
  /** A use since the entry was added, or since it was last at the front of a queue. */
  wasUsed: boolean;
  queue: FifoQueue<V>;
  next: Node<V> | undefined;
}

/** A linked list: the first key of a `Map` is found only after a step over every key that was deleted before it. */
class FifoQueue<V> {
  bytes = 0;
  #first: Node<V> | undefined;
  #last: Node<V> | undefined;

  push(node: Node<V>): void {
    node.queue = this;
    node.next = undefined;
    if (this.#last) this.#last.next = node;
    else this.#first = node;
    this.#last = node;
    this.bytes += node.bytes;
  }

  /** Adds an entry that is evicted before all others of the queue. */
  unshift(node: Node<V>): void {
    node.queue = this;
    node.next = this.#first;
    this.#first = node;
    this.#last ??= node;
    this.bytes += node.bytes;
  }

  shift(): Node<V> | undefined {
    const node = this.#first;
    if (!node) return undefined;
    this.#first = node.next;
    if (!this.#first) this.#last = undefined;
    this.bytes -= node.bytes;
    return node;
  }
}

/** The keys that were evicted last, in two generations: the older one is dropped when the newer one is full. */
class EvictedKeys {
  #newer = new Set<string>();
  #older = new Set<string>();

  has(key: string): boolean {
    return this.#newer.has(key) || this.#older.has(key);
  }

  add(key: string, maxKeys: number): void {
    this.#newer.add(key);
    if (this.#newer.size < maxKeys / 2) return;
    this.#older = this.#newer;
    this.#newer = new Set();
  }
}

/** The share of the cache that new entries have while the main queue needs the rest. */
const smallShare = 1 / 10;

interface S3FifoEvents<V> {
  /** A value is evicted or replaced. */
  readonly onRemoved?: (value: V) => void;
  /** A value enters the main queue, where it may stay much longer than values that were added with it. */
  readonly onEnterMain?: (value: V) => void;
}

export class S3Fifo<V> {
  /** Bytes that removed values still hold. They count as bytes of the cache. */
  heldBytes = 0;
  readonly #maxBytes: number;
  readonly #events: S3FifoEvents<V>;
  readonly #nodes = new Map<string, Node<V>>();
  readonly #small = new FifoQueue<V>();
  readonly #main = new FifoQueue<V>();
  /** At most as many keys as there are entries. */
  readonly #evictedKeys = new EvictedKeys();

  constructor(maxBytes: number, events: S3FifoEvents<V> = {}) {
    this.#maxBytes = maxBytes;
    this.#events = events;
  }

  get bytes(): number {
    return this.#small.bytes + this.#main.bytes + this.heldBytes;
  }

  get size(): number {
    return this.#nodes.size;
  }

  /** Does not count as a use. */
  peek(key: string): V | undefined {
    return this.#nodes.get(key)?.value;
  }

  get(key: string): V | undefined {
    const node = this.#nodes.get(key);
    if (node) node.wasUsed = true;
    return node?.value;
  }

  /** False: the value alone is larger than the cache, which then has no value for the key. It counts as removed. */
  set(key: string, value: V, bytes: number): boolean {
    const node = this.#nodes.get(key);
    if (node) {
      this.#replace(node, value, bytes);
      return this.#nodes.has(key);
    }
    if (bytes > this.#maxBytes) {
      this.#events.onRemoved?.(value);
      return false;
    }
    this.#makeSpace(bytes);
    const queue = this.#evictedKeys.has(key) ? this.#main : this.#small;
    queue.push(this.#enter(key, value, bytes, queue));
    if (queue === this.#main) this.#events.onEnterMain?.(value);
    return true;
  }

  /** Adds an entry that was used before, and less recently than all others. False: there is no space for it. */
  restore(key: string, value: V, bytes: number): boolean {
    if (this.bytes + bytes > this.#maxBytes) return false;
    this.#main.unshift(this.#enter(key, value, bytes, this.#main));
    return true;
  }

  #enter(key: string, value: V, bytes: number, queue: FifoQueue<V>): Node<V> {
    const node = { key, value, bytes, wasUsed: false, queue, next: undefined };
    this.#nodes.set(key, node);
    return node;
  }

  /** The entry keeps its place. */
  #replace(node: Node<V>, value: V, bytes: number): void {
    this.#events.onRemoved?.(node.value);
    node.value = value;
    node.queue.bytes += bytes - node.bytes;
    node.bytes = bytes;
    if (node.queue === this.#main) this.#events.onEnterMain?.(value);
    this.#makeSpace(0);
  }

  #makeSpace(bytes: number): void {
    while (this.bytes + bytes > this.#maxBytes && this.#nodes.size > 0) this.#evictOrMove();
  }

  /** Takes one entry from the front of a queue. */
  #evictOrMove(): void {
    const isSmallFull = this.#small.bytes > this.#maxBytes * smallShare;
    const queue = isSmallFull || this.#main.bytes === 0 ? this.#small : this.#main;
    const node = queue.shift();
    if (!node) return;
    if (node.wasUsed) {
      node.wasUsed = false;
      this.#main.push(node);
      if (queue === this.#small) this.#events.onEnterMain?.(node.value);
      return;
    }
    this.#nodes.delete(node.key);
    this.#events.onRemoved?.(node.value);
    if (queue === this.#small) this.#evictedKeys.add(node.key, this.#nodes.size);
  }
}
