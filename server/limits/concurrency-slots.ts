/** Concurrency slots, a counting semaphore: bounds the requests in flight, with an estimate of the wait. */

/** The weight of the latest duration in the average (EWMA). */
const weight = 0.2;

export class ConcurrencySlots {
  #limit: number;
  inFlight = 0;
  /** Queued requests that need a slot here, and possibly in other scopes as well. */
  waiting = 0;
  /** Shared slots: queued requests that could use a slot here, because they lack none of the slots before it. */
  usable = 0;
  /** Shared slots: requests that lease slots before they queue. */
  entering = 0;
  /** The average milliseconds that a slot is held. */
  #meanHeldMs: number | undefined;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The slots of this process. Infinity: no limit. */
  get limit(): number {
    return this.#limit;
  }

  set limit(limit: number) {
    this.#limit = limit;
  }

  get hasFreeSlot(): boolean {
    return this.inFlight < this.limit;
  }

  /** Whether a request would have to queue. */
  get isExhausted(): boolean {
    return !this.hasFreeSlot;
  }

  /** Whether other replicas use the slots, too. */
  get isShared(): boolean {
    return false;
  }

  /** Shared slots: whether none is leased that is free, and one may be leased now. */
  canLease?(): boolean;

  /** Shared slots: leases one more, if it can. */
  lease?(): Promise<void>;

  /** Shared slots: reads the state of the slots, for display. */
  readShared?(): Promise<void>;

  /** The requests in flight of all processes, as last read. */
  get sharedInFlight(): number {
    return this.inFlight;
  }

  acquire(): void {
    this.inFlight++;
  }

  /**
   * Applies a limit that changes with time. Returns the milliseconds until it may change again. Infinity: only a
   * release or a reload changes it.
   */
  refresh(_now: number): number {
    return Number.POSITIVE_INFINITY;
  }

  release(heldMs: number): void {
    this.inFlight--;
    const ms = Math.max(0, heldMs);
    this.#meanHeldMs =
      this.#meanHeldMs === undefined ? ms : this.#meanHeldMs + (ms - this.#meanHeldMs) * weight;
  }

  /** The expected wait of a new request, from the average duration. Undefined before the first release. */
  get expectedWaitMs(): number | undefined {
    if (this.#meanHeldMs === undefined) return undefined;
    return (this.#meanHeldMs * (this.waiting + 1)) / Math.max(1, this.limit);
  }
}
