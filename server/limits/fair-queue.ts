/**
 * Fair queueing for concurrency slots: API keys take turns (`KeyTurns`), and interactive requests go before batch
 * requests. A request takes all of its slots at once or none, so it never holds one slot while it waits for another.
 */
import { KeyTurns } from "../lib/key-turns.ts";
import type { Priority } from "../request/http-types.ts";
import type { ConcurrencySlots } from "./concurrency-slots.ts";

export interface Waiter {
  readonly key: string;
  readonly priority: Priority;
  /** The semaphores of which the request needs one slot each. */
  readonly neededSlots: readonly ConcurrencySlots[];
  /** Whether work was already done for the request: then it is neither refused nor timed out. */
  hasStarted(): boolean;
  /**
   * Shared slots: takes the slots of `neededSlots` from the other processes. False: not all of them are free. Absent:
   * the slots belong to this process.
   */
  readonly take?: () => Promise<boolean>;
  /** Called when the request holds all of its slots. */
  admit(now: number): void;
  reject(reason: "timeout" | "full"): void;
}

/** After this many interactive requests in a row, a batch request goes first (starvation guard). */
const maxInteractiveInRow = 16;

export class FairQueue {
  readonly #max: number;
  readonly #turns: Readonly<Record<Priority, KeyTurns<Waiter>>> = {
    interactive: new KeyTurns(),
    batch: new KeyTurns(),
  };
  /** Interactive requests that were admitted in a row while batch requests waited. */
  #interactiveInRow = 0;
  /** Slots that a request missed: they went to a request behind it, while it lacked another slot. */
  readonly #missedSlots = new WeakMap<Waiter, Set<ConcurrencySlots>>();
  /** A request that missed every slot that it lacks. Free slots that it needs are kept for it (starvation guard). */
  #starved: Waiter | undefined;
  /** Requests that have acquired their slots here, and take them from the other processes. */
  readonly #taking = new Set<Waiter>();

  /** `max`: the limit of queued requests. */
  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#turns.interactive.size + this.#turns.batch.size;
  }

  /** Takes the slots at once if all are free and no request is queued for any of them. */
  tryEnter(neededSlots: readonly ConcurrencySlots[]): boolean {
    for (const slots of neededSlots) if (!slots.hasFreeSlot || slots.waiting > 0) return false;
    for (const slots of neededSlots) slots.acquire();
    return true;
  }

  /**
   * If the queue is full, the key with the most queued requests loses its newest, so that one key cannot fill the queue
   * for all. Batch requests are rejected before interactive ones.
   */
  wait(waiter: Waiter, now: number): void {
    this.#turns[waiter.priority].add(waiter.key, waiter);
    for (const slots of waiter.neededSlots) slots.waiting++;
    if (canEnter(waiter)) this.admitWaiting(now);
    if (this.size <= this.#max) return;
    const { interactive, batch } = this.#turns;
    const mayLeave = (queued: Waiter): boolean => !queued.hasStarted();
    const newest =
      batch.newestOfLargest(mayLeave) ?? interactive.newestOfLargest(mayLeave) ?? waiter;
    this.cancel(newest, now);
    newest.reject("full");
  }

  /** The request leaves the queue. False: it is not in the queue. */
  cancel(waiter: Waiter, now: number): boolean {
    if (!this.#turns[waiter.priority].remove(waiter.key, waiter)) return false;
    this.#left(waiter);
    this.admitWaiting(now);
    return true;
  }

  /** Admits every request that can enter. Must be called whenever a slot becomes free. */
  admitWaiting(now: number): void {
    for (let waiter = this.#next(); waiter; waiter = this.#next()) {
      for (const slots of waiter.neededSlots) slots.acquire();
      if (waiter.take) void this.#takeShared(waiter, waiter.take, now);
      else this.#admit(waiter, now);
    }
  }

  #admit(waiter: Waiter, now: number): void {
    this.#turns[waiter.priority].takeTurn(waiter.key, waiter);
    this.#left(waiter);
    waiter.admit(now);
  }

  /** The request keeps its turn until it has its slots. */
  async #takeShared(waiter: Waiter, take: () => Promise<boolean>, now: number): Promise<void> {
    this.#taking.add(waiter);
    const isTaken = await take();
    // False: the request has left the queue.
    const isQueued = this.#taking.delete(waiter);
    if (isTaken && isQueued) this.#admit(waiter, now);
    else for (const slots of waiter.neededSlots) slots.giveBack();
    this.admitWaiting(now);
  }

  /** The queue timeout of the request is over. A request that has started stays in the queue. */
  timeOut(waiter: Waiter, now: number): void {
    if (!waiter.hasStarted() && this.cancel(waiter, now)) waiter.reject("timeout");
  }

  /**
   * Applies the limits that change with time, and admits requests. Returns the milliseconds until one of these limits
   * may change again.
   */
  refresh(now: number): number {
    let earliestMs = Number.POSITIVE_INFINITY;
    for (const { neededSlots } of this.#waiters()) {
      earliestMs = Math.min(earliestMs, refreshSlots(neededSlots, now));
    }
    this.admitWaiting(now);
    return earliestMs;
  }

  *#waiters(): Generator<Waiter> {
    yield* this.#turns.interactive.values();
    yield* this.#turns.batch.values();
  }

  #left(waiter: Waiter): void {
    for (const slots of waiter.neededSlots) slots.waiting--;
    this.#taking.delete(waiter);
    if (this.#starved === waiter) this.#starved = undefined;
  }

  /** The next request that can enter. */
  #next(): Waiter | undefined {
    const { interactive, batch } = this.#turns;
    const starved = this.#starved;
    if (starved && !this.#taking.has(starved) && canEnter(starved)) return starved;
    const passed: Waiter[] = [];
    const isReady = (waiter: Waiter): boolean => {
      if (this.#taking.has(waiter)) return false;
      const isAble = canEnter(waiter, starved?.neededSlots);
      if (!isAble && waiter.neededSlots.length > 1) passed.push(waiter);
      return isAble;
    };
    const isBatchNext = this.#interactiveInRow >= maxInteractiveInRow;
    const [first, second] = isBatchNext ? [batch, interactive] : [interactive, batch];
    const found = first.find(isReady) ?? second.find(isReady);
    if (!found) return undefined;
    const isCounted = found.priority === "interactive" && batch.size > 0;
    this.#interactiveInRow = isCounted ? this.#interactiveInRow + 1 : 0;
    this.#noteMissed(passed, found.neededSlots);
    return found;
  }

  /** `taken`: one slot of each of these goes to a request behind those that were passed. */
  #noteMissed(passed: readonly Waiter[], taken: readonly ConcurrencySlots[]): void {
    for (const waiter of passed) {
      const missed = this.#missedSlots.get(waiter) ?? new Set();
      for (const slots of waiter.neededSlots) if (taken.includes(slots)) missed.add(slots);
      this.#missedSlots.set(waiter, missed);
      // For a request that waits for the limit of its own key, no shared slots are kept.
      const isStarved = waiter.neededSlots.every((slots) => slots.hasFreeSlot || missed.has(slots));
      if (isStarved) this.#starved ??= waiter;
    }
  }
}

/** Milliseconds until the first of these limits may change. */
export function refreshSlots(neededSlots: readonly ConcurrencySlots[], now: number): number {
  let earliestMs = Number.POSITIVE_INFINITY;
  for (const slots of neededSlots) earliestMs = Math.min(earliestMs, slots.refresh(now));
  return earliestMs;
}

/** Whether the request can take its slots while one slot stays free in each of `keptSlots`. */
function canEnter({ neededSlots }: Waiter, keptSlots?: readonly ConcurrencySlots[]): boolean {
  // A loop, because it runs for every queued request when a slot becomes free.
  for (const slots of neededSlots) {
    if (slots.inFlight + (keptSlots?.includes(slots) ? 1 : 0) >= slots.limit) return false;
  }
  return true;
}
