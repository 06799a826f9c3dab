/** So many may be inside at once. */

/** How much the latest stay says of the next. */
const weight = 0.2;

export class ConcurrencySlots {
  /** Infinity: as many as like. */
  limit: number;
  inFlight = 0;
  /** Before it, and perhaps before others as well. */
  waiting = 0;
  /** Milliseconds that a stay usually takes. */
  #stayMs: number | undefined;

  constructor(limit: number) {
    this.limit = limit;
  }

  get hasFreeSlot(): boolean {
    return this.inFlight < this.limit;
  }

  acquire(): void {
    this.inFlight++;
  }

  /** Told the time now and then, while anybody waits before it. */
  refresh(_now: number): void {}

  release(stayedMs: number): void {
    this.inFlight--;
    const ms = Math.max(0, stayedMs);
    this.#stayMs = this.#stayMs === undefined ? ms : this.#stayMs + (ms - this.#stayMs) * weight;
  }

  /** Until one who comes now may be inside, going by how long others stayed. Undefined where nobody has left yet. */
  get expectedWaitMs(): number | undefined {
    if (this.#stayMs === undefined) return undefined;
    return (this.#stayMs * (this.waiting + 1)) / this.limit;
  }
}
