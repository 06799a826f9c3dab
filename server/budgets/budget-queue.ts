/**
 * Calls for vectors that would fit their budgets, were it not for what is held for others. More is held than will be spent
 * and most of it is free again in a moment, so they wait for that, first come first served, rather than be sent away.
 */
import type { Budgeted } from "../lib/budget.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { Signal } from "../lib/signal.ts";
import type { Timers } from "../lib/timers.ts";
import { hungUp } from "../request/deadline.ts";

export interface Wanting {
  readonly charged: readonly Budgeted[];
  /** Throws what `isOnlyHeld` knows as long as there is not enough. */
  readonly hold: () => void;
  /** What it threw last. */
  refusal: unknown;
  readonly signal: Signal;
}

interface Waiter extends Wanting {
  readonly go: () => void;
  readonly giveUp: (reason: unknown) => void;
}

/** With each call that ends, so many are looked at that find not enough still: those behind them want as much. */
const mostLooks = 16;

export interface MoneyQueueOptions {
  /** The longest that one waits. */
  readonly waitMs: number;
  /** The most that wait. */
  readonly max: number;
  readonly timers: Timers;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

export class MoneyQueue {
  readonly #options: MoneyQueueOptions;
  readonly #waiters = new Set<Waiter>();

  constructor(options: MoneyQueueOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#waiters.size;
  }

  /** How many milliseconds it took. Rejects with the refusal, if there is not enough in time or will not be. */
  async wait(wanting: Wanting): Promise<number> {
    const { waitMs, max, timers, clock } = this.#options;
    const { refusal, signal } = wanting;
    if (waitMs === 0 || this.size >= max) throw refusal;
    if (signal.aborted) throw hungUp();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter: Waiter = { ...wanting, go: resolve, giveUp: reject };
    const end = (reason: unknown): void => {
      this.#waiters.delete(waiter);
      reject(reason);
    };
    const leave = (): void => end(hungUp());
    const came = clock();
    const timer = timers.start(waitMs, () => end(waiter.refusal));
    signal.addEventListener("abort", leave);
    this.#waiters.add(waiter);
    try {
      await promise;
      return clock() - came;
    } finally {
      timers.stop(timer);
      signal.removeEventListener("abort", leave);
    }
  }

  /** A call that was charged to these is over. */
  freed(charged: readonly Budgeted[]): void {
    let looks = 0;
    for (const waiter of this.#waiters) {
      if (!shares(waiter.charged, charged)) continue;
      try {
        waiter.hold();
        waiter.go();
      } catch (error) {
        waiter.refusal = error;
        if (isOnlyHeld(error)) {
          if (++looks === mostLooks) return;
          continue;
        }
        waiter.giveUp(error);
      }
      this.#waiters.delete(waiter);
    }
  }
}

/** Nothing but calls under way is in its way. */
export const isOnlyHeld = (error: unknown): boolean =>
  error instanceof GatewayError && error.fault === "over_budget" && error.row.retry === "later";

const shares = (some: readonly Budgeted[], others: readonly Budgeted[]): boolean =>
  some.some(({ scope, id }) => others.some((other) => other.scope === scope && other.id === id));
