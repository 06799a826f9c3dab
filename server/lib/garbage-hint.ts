/**
 * Requests a concurrent garbage collection after every few megabytes of temporary strings. Without the requests, the
 * collector would let the garbage grow to the size of all memory that is in use.
 */
const hintBytes = 4 * 1024 * 1024;

export class GarbageHint {
  #bytes = 0;

  /** Counts garbage. The call takes microseconds: another thread collects. */
  add(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes < hintBytes) return;
    this.#bytes = 0;
    Bun.gc(false);
  }
}
