/** The concurrency slots of one request: one slot of each of its limits, acquired together and released together, once. */
import type { ConcurrencySlots } from "./concurrency-slots.ts";

interface SlotLeaseOptions {
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  /** Called when the slots are released. */
  readonly onRelease: () => void;
}

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
