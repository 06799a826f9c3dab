/**
 * Concurrency slots, a counting semaphore: bounds the requests in flight, with an estimate of the wait. A request has a
 * lease of its slots.
 */
import type { SlotDemand, SlotState } from "../storage/redis/limits-demand.ts";

/** Slots that replicas share: this process knows their state as of the last reply. */
export interface SharedSlots {
  readonly name: string;
  /** The limit of all replicas. */
  readonly sharedLimit: number;
  readonly inFlight: number;
  readonly waiting: number;
  /** A slot was acquired here, and is now requested from the other replicas. */
  demand(): SlotDemand;
  /** The reply to `demand`. `hold`: the name of the slot. Undefined: the request got none. */
  accept(state: SlotState, hold: string | undefined, now: number): void;
  /** There was no reply to `demand`. */
  fail(): void;
  read(state: SlotState, now: number): void;
  /** A slot may have been released elsewhere: the next request asks for it. */
  assumeFree(): void;
  /** The names of the slots in use, also of those that were acquired while the shared limits were unreachable. */
  held(newHold: () => string): readonly string[];
}

/** The weight of the latest duration in the average (EWMA). */
const weight = 0.2;

export class ConcurrencySlots {
  #limit: number;
  inFlight = 0;
  /** Queued requests that need a slot here, and possibly in other scopes as well. */
  waiting = 0;
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

  /** The same slots, if other processes use them, too. */
  get shared(): SharedSlots | undefined {
    return undefined;
  }

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

  /** A slot was acquired and is not used. */
  releaseUnused(): void {
    this.inFlight--;
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

interface SlotLeaseOptions {
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  /** Called when the slots are released. */
  readonly onRelease: () => void;
}

/** The concurrency slots of one request: one slot of each of its limits, acquired and released together, once. */
export class SlotLease {
  readonly #slots: readonly ConcurrencySlots[];
  readonly #options: SlotLeaseOptions;
  readonly #acquiredAt: number;
  #isHeld = true;

  /** Acquires the slots. */
  constructor(slots: readonly ConcurrencySlots[], options: SlotLeaseOptions) {
    this.#slots = slots;
    this.#options = options;
    this.#acquiredAt = options.clock();
    for (const one of slots) one.acquire();
  }

  /** The request has ended. */
  release(): void {
    const heldMs = this.#options.clock() - this.#acquiredAt;
    this.#releaseOnce((slots) => slots.release(heldMs));
  }

  /** The request was not sent: the time says nothing about how long a slot is held. */
  releaseUnused(): void {
    this.#releaseOnce((slots) => slots.releaseUnused());
  }

  /** The caller counts itself as in flight, in the same turn: no queued request gets the slots between. */
  handOver(): void {
    this.#isHeld = false;
    for (const slots of this.#slots) slots.inFlight--;
  }

  #releaseOnce(release: (slots: ConcurrencySlots) => void): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    for (const slots of this.#slots) release(slots);
    this.#options.onRelease();
  }
}
