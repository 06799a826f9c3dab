/**
 * Concurrency slots, a counting semaphore: bounds the requests in flight, with an estimate of the wait. The slots of
 * one process are `LocalSlots`, those that replicas share are `SharedSlots`. A request has a lease of its slots.
 */

export interface ConcurrencySlots {
  /** Infinity: no limit. */
  limit: number;
  /** The requests of this process that have a slot, or are asking the other replicas for one. */
  readonly inFlight: number;
  /** The requests in flight of all replicas, as last read. */
  readonly totalInFlight: number;
  /** Queued requests that need a slot here, and possibly in other scopes as well. */
  waiting: number;
  /** Whether a request may take a slot now, or ask the other replicas for one. */
  readonly mayTake: boolean;
  /** The expected wait of a new request, from the average duration. Undefined before the first release. */
  readonly expectedWaitMs: number | undefined;
  /** Whether no slot is free, as last known. For a choice, not for an admission. */
  isExhausted(): boolean;
  /**
   * Applies a limit that changes with time. Returns the milliseconds until `mayTake` may change. Infinity: only a
   * release or a reload changes it.
   */
  refresh(now: number): number;
  acquire(lease: SlotLease): void;
  /** `heldMs`: undefined if the slot was not used. */
  release(lease: SlotLease, heldMs: number | undefined): void;
}

/** The weight of the latest duration in the average (EWMA). */
const weight = 0.2;

/** The average milliseconds that a slot is held. */
export class MeanHeldTime {
  #ms: number | undefined;

  add(heldMs: number): void {
    const ms = Math.max(0, heldMs);
    this.#ms = this.#ms === undefined ? ms : this.#ms + (ms - this.#ms) * weight;
  }

  /** Undefined before the first release. */
  waitMs(waiting: number, slots: number): number | undefined {
    return this.#ms === undefined ? undefined : (this.#ms * (waiting + 1)) / Math.max(1, slots);
  }
}

/** The slots of this process. */
export class LocalSlots implements ConcurrencySlots {
  limit: number;
  inFlight = 0;
  waiting = 0;
  readonly #heldTime = new MeanHeldTime();

  constructor(limit: number) {
    this.limit = limit;
  }

  get totalInFlight(): number {
    return this.inFlight;
  }

  get mayTake(): boolean {
    return this.inFlight < this.limit;
  }

  get expectedWaitMs(): number | undefined {
    return this.#heldTime.waitMs(this.waiting, this.limit);
  }

  isExhausted(): boolean {
    return !this.mayTake;
  }

  refresh(_now: number): number {
    return Number.POSITIVE_INFINITY;
  }

  acquire(_lease: SlotLease): void {
    this.inFlight++;
  }

  release(_lease: SlotLease, heldMs: number | undefined): void {
    this.inFlight--;
    if (heldMs !== undefined) this.#heldTime.add(heldMs);
  }
}

export interface SlotLeaseOptions {
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  /** Called when the slots are released. */
  readonly onRelease: () => void;
  /** An id that no other lease has, at any replica. */
  readonly newId: () => string;
}

/** The concurrency slots of one request: one slot of each of its limits, acquired and released together, once. */
export class SlotLease {
  readonly slots: readonly ConcurrencySlots[];
  /** False: the other replicas are being asked for the slots, or have refused them. */
  isGranted = true;
  readonly #options: SlotLeaseOptions;
  readonly #acquiredAt: number;
  #id: string | undefined;
  #isReleased = false;

  /** Acquires the slots. */
  constructor(slots: readonly ConcurrencySlots[], options: SlotLeaseOptions) {
    this.slots = slots;
    this.#options = options;
    this.#acquiredAt = options.clock();
    for (const each of slots) each.acquire(this);
  }

  /** Its entries in the slots that replicas share have this id. */
  get id(): string {
    this.#id ??= this.#options.newId();
    return this.#id;
  }

  /** The request has ended. */
  release(): void {
    if (this.#releaseOnce(this.#options.clock() - this.#acquiredAt)) this.#options.onRelease();
  }

  /** The request was not sent: the time says nothing about how long a slot is held. */
  releaseUnused(): void {
    if (this.#releaseOnce(undefined)) this.#options.onRelease();
  }

  /** The caller counts itself as in flight, in the same turn: no queued request gets the slots between. */
  handOver(): void {
    this.#releaseOnce(undefined);
  }

  #releaseOnce(heldMs: number | undefined): boolean {
    if (this.#isReleased) return false;
    this.#isReleased = true;
    for (const each of this.slots) each.release(this, heldMs);
    return true;
  }
}
