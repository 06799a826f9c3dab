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
  /**
   * Throws, or rejects with, an error that `isOnlyReserved` recognizes as long as the budget is too small. A promise:
   * the budget is shared, and other replicas release reservations, too.
   */
  readonly tryReserve: () => Promise<void> | undefined;
  /** Other replicas reserve from the budget, too. */
  readonly isShared: boolean;
  /** The last error of `tryReserve`. */
  refusal: unknown;
  readonly signal: AbortSignal;
}

interface Waiter extends BudgetWait {
  isTrying: boolean;
  readonly resume: () => void;
  readonly reject: (reason: unknown) => void;
}

/** How often requests that wait for shared budgets are tried: other replicas report no released reservations. */
const pollMs = 100;
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
  #isPolling = false;

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
    const waiter: Waiter = { ...request, isTrying: false, resume: resolve, reject: reject };
    const end = (reason: unknown): void => {
      this.#waiters.delete(waiter);
      reject(reason);
    };
    const onAbort = (): void => end(clientClosedError());
    const arrivedAt = clock();
    const timer = timers.start(waitMs, () => end(waiter.refusal));
    signal.addEventListener("abort", onAbort);
    this.#waiters.add(waiter);
    this.#pollShared();
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
    void this.#tryWaiting((waiter) => sharesBudget(waiter.charged, charged));
  }

  #pollShared(): void {
    const isShared = (waiter: Waiter): boolean => waiter.isShared;
    if (this.#isPolling || !this.#waiters.values().some(isShared)) return;
    this.#isPolling = true;
    this.#options.timers.start(pollMs, async () => {
      await this.#tryWaiting(isShared);
      this.#isPolling = false;
      this.#pollShared();
    });
  }

  /** Tries the requests in their order. With budgets of this process, everything happens in the same turn. */
  async #tryWaiting(isAffected: (waiter: Waiter) => boolean): Promise<void> {
    let rejectedTries = 0;
    for (const waiter of this.#waiters) {
      if (waiter.isTrying || !isAffected(waiter)) continue;
      try {
        waiter.isTrying = true;
        const trying = waiter.tryReserve();
        if (trying) await trying;
        this.#end(waiter, waiter.resume);
      } catch (error) {
        waiter.refusal = error;
        if (!isOnlyReserved(error)) this.#end(waiter, () => waiter.reject(error));
        else if (++rejectedTries === maxRejectedTries) return;
      } finally {
        waiter.isTrying = false;
      }
    }
  }

  /** The request may have left the queue meanwhile: then its end has released, or releases, the reservation. */
  #end(waiter: Waiter, end: () => void): void {
    if (this.#waiters.delete(waiter)) end();
  }
}

/** The budget is too small only because of the reservations of requests in flight. */
export const isOnlyReserved = (error: unknown): boolean =>
  error instanceof GatewayError &&
  error.kind === "over_budget" &&
  error.definition.retry === "later";

const sharesBudget = (some: readonly BudgetedOwner[], others: readonly BudgetedOwner[]): boolean =>
  some.some(({ scope, id }) => others.some((other) => other.scope === scope && other.id === id));
