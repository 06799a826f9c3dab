/** Vectors that are known already, in memory and bounded by bytes. What was used least recently goes first. */

export interface Known {
  readonly vector: Float32Array;
  /** This input's share of what the upstream counted. Undefined: it did not say. */
  readonly tokens: number | undefined;
}

/** Where vectors outlive the process. It is told of each new one, and of each use. */
export interface VectorKeeper {
  add(key: string, known: Known): void;
  used(key: string): void;
}

export interface VectorMemoryOptions {
  /** 0: nothing is remembered. */
  readonly maxBytes: number;
  readonly keeper?: VectorKeeper;
}

/** What an entry takes beside its vector, key included. Measured as resident memory, with 80,000 of them. */
export const entryOverhead = 600;

/**
 * A list through the entries, because a Map alone does not do: its order is that of insertion, but taking the first key
 * of one that has had many deletions passes over all of them, and an entry cannot be put at the old end.
 */
class Entry implements Known {
  readonly key: string;
  readonly vector: Float32Array;
  readonly tokens: number | undefined;
  newer: Entry | undefined = undefined;
  older: Entry | undefined = undefined;

  constructor(key: string, vector: Float32Array, tokens: number | undefined) {
    this.key = key;
    // A copy: what comes may be a view that would hold on to all of the answer, and may be written to again.
    this.vector = vector.slice();
    this.tokens = tokens;
  }

  get bytes(): number {
    return this.vector.byteLength + entryOverhead;
  }
}

export class VectorMemory {
  readonly #options: VectorMemoryOptions;
  readonly #entries = new Map<string, Entry>();
  #newest: Entry | undefined;
  #oldest: Entry | undefined;
  #bytes = 0;

  constructor(options: VectorMemoryOptions) {
    this.#options = options;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): Known | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry !== this.#newest) {
      this.#unlink(entry);
      this.#linkNewest(entry);
    }
    this.#options.keeper?.used(key);
    return entry;
  }

  /** Gives back what was learnt, whether there is room for it or not: a copy, which nobody may change. */
  learn(key: string, vector: Float32Array, tokens: number | undefined): Known {
    const entry = new Entry(key, vector, tokens);
    if (entry.bytes > this.#options.maxBytes) return entry;
    const before = this.#entries.get(key);
    if (before) this.#remove(before);
    this.#entries.set(key, entry);
    this.#linkNewest(entry);
    this.#bytes += entry.bytes;
    while (this.#bytes > this.#options.maxBytes && this.#oldest) this.#remove(this.#oldest);
    this.#options.keeper?.add(key, entry);
    return entry;
  }

  /** What an earlier process knew, the most recently used first. False when there is no room for more. */
  recall(key: string, vector: Float32Array, tokens: number | undefined): boolean {
    if (this.#entries.has(key)) return true;
    const entry = new Entry(key, vector, tokens);
    if (this.#bytes + entry.bytes > this.#options.maxBytes) return false;
    this.#entries.set(key, entry);
    entry.newer = this.#oldest;
    if (this.#oldest) this.#oldest.older = entry;
    else this.#newest = entry;
    this.#oldest = entry;
    this.#bytes += entry.bytes;
    return true;
  }

  #linkNewest(entry: Entry): void {
    entry.newer = undefined;
    entry.older = this.#newest;
    if (this.#newest) this.#newest.newer = entry;
    else this.#oldest = entry;
    this.#newest = entry;
  }

  #unlink({ newer, older }: Entry): void {
    if (newer) newer.older = older;
    else this.#newest = older;
    if (older) older.newer = newer;
    else this.#oldest = newer;
  }

  #remove(entry: Entry): void {
    this.#unlink(entry);
    this.#entries.delete(entry.key);
    this.#bytes -= entry.bytes;
  }
}
