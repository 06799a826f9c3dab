/**
 * Budget queue: embeddings requests that exceed their budget only because of reservations of other requests.
 * Reservations are higher than the final costs and are released soon, so these requests wait in their order instead of
 * being refused.
 */

import type { BudgetedOwner } from "../../contract/limits-and-budgets.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { Timers } from "../lib/timers.ts";
import { clientClosedError } from "../request/deadline.ts";

export interface BudgetWait {
  readonly charged: readonly BudgetedOwner[];
  /** Throws an error that `isOnlyReserved` recognizes as long as the budget is too small. */
  readonly tryReserve: () => void;
  /** The last error of `tryReserve`. */
  refusal: unknown;
  readonly signal: AbortSignal;
}

interface Waiter extends BudgetWait {
  readonly resume: () => void;
  readonly reject: (reason: unknown) => void;
}

/** After each settled request, queued requests are tried until this many have failed: the others need about as much. */
const maxRejectedTries = 16;

export interface BudgetQueueOptions {
  /** The queue timeout. */
  readonly waitMs: number;
  /** The limit of queued requests. */
  readonly max: number;
  readonly timers: Timers;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

export class BudgetQueue {
  readonly #options: BudgetQueueOptions;
  readonly #waiters = new Set<Waiter>();

  constructor(options: BudgetQueueOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#waiters.size;
  }

  /** Resolves with the milliseconds waited. Rejects with the refusal if the budget stays too small. */
  async wait(request: BudgetWait): Promise<number> {
    const { waitMs, max, timers, clock } = this.#options;
    const { refusal, signal } = request;
    if (waitMs === 0 || this.size >= max) throw refusal;
    if (signal.aborted) throw clientClosedError();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter: Waiter = { ...request, resume: resolve, reject: reject };
    const end = (reason: unknown): void => {
      this.#waiters.delete(waiter);
      reject(reason);
    };
    const onAbort = (): void => end(clientClosedError());
    const arrivedAt = clock();
    const timer = timers.start(waitMs, () => end(waiter.refusal));
    signal.addEventListener("abort", onAbort);
    this.#waiters.add(waiter);
    try {
      await promise;
      return clock() - arrivedAt;
    } finally {
      timers.stop(timer);
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** A request that was charged to these budgets has been settled. */
  onReleased(charged: readonly BudgetedOwner[]): void {
    let rejectedTries = 0;
    for (const waiter of this.#waiters) {
      if (!sharesBudget(waiter.charged, charged)) continue;
      try {
        waiter.tryReserve();
        waiter.resume();
      } catch (error) {
        waiter.refusal = error;
        if (isOnlyReserved(error)) {
          if (++rejectedTries === maxRejectedTries) return;
          continue;
        }
        waiter.reject(error);
      }
      this.#waiters.delete(waiter);
    }
  }
}

/** The budget is too small only because of the reservations of requests in flight. */
export const isOnlyReserved = (error: unknown): boolean =>
  error instanceof GatewayError &&
  error.kind === "over_budget" &&
  error.definition.retry === "later";

const sharesBudget = (some: readonly BudgetedOwner[], others: readonly BudgetedOwner[]): boolean =>
  some.some(({ scope, id }) => others.some((other) => other.scope === scope && other.id === id));
