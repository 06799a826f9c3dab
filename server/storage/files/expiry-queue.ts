/** Expiry queue: files ordered by their deletion time in a binary min-heap. */

export interface ExpiringFile {
  readonly name: string;
  readonly size: number;
  /** Unix milliseconds from which on it may be deleted. */
  readonly deleteAt: number;
}

export class ExpiryQueue {
  readonly #heap: ExpiringFile[] = [];

  get length(): number {
    return this.#heap.length;
  }

  get first(): ExpiringFile | undefined {
    return this.#heap[0];
  }

  add(file: ExpiringFile): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(file);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#deleteAt(parent) <= file.deleteAt) break;
      heap[at] = heap[parent] as ExpiringFile;
      at = parent;
    }
    heap[at] = file;
  }

  /** Removes and returns the first file if it has expired. */
  takeExpired(now: number): ExpiringFile | undefined {
    const heap = this.#heap;
    const first = heap[0];
    if (!first || first.deleteAt > now) return undefined;
    const last = heap.pop();
    if (last && last !== first) this.#sink(last);
    return first;
  }

  /** Replaces the first entry and restores the heap order. */
  #sink(file: ExpiringFile): void {
    const heap = this.#heap;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (this.#deleteAt(child + 1) < this.#deleteAt(child)) child++;
      if (this.#deleteAt(child) >= file.deleteAt) break;
      heap[at] = heap[child] as ExpiringFile;
      at = child;
    }
    heap[at] = file;
  }

  #deleteAt(at: number): number {
    return this.#heap[at]?.deleteAt ?? Number.POSITIVE_INFINITY;
  }
}
