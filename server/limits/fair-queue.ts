/**
 * Fair queueing for concurrency slots: API keys take turns (`KeyTurns`), and interactive requests go before batch
 * requests. A request gets all of its slots at once, as a `SlotLease`, so it never holds one slot while it waits for
 * another.
 */
import type { GatewayError } from "../lib/gateway-error.ts";
import { KeyTurns } from "../lib/key-turns.ts";
import type { Timers } from "../lib/timers.ts";
import type { Priority } from "../request/http-types.ts";
import { type ConcurrencySlots, SlotLease, type SlotLeaseOptions } from "./concurrency-slots.ts";

export interface SlotRequest {
  readonly key: string;
  readonly priority: Priority;
  /** The semaphores of which the request needs one slot each. */
  readonly neededSlots: readonly ConcurrencySlots[];
  /** Whether work was already done for the request: then it is neither refused nor timed out. */
  hasStarted(): boolean;
  readonly queueTimeoutMs: number;
  /** Aborted when the request ends. */
  readonly signal: AbortSignal;
  /** The error of a request that leaves the queue without its slots. */
  refusal(reason: "timeout" | "full" | "aborted"): GatewayError;
  /**
   * Shared slots: asks the other replicas for the slots of the lease. False: not all of them are free. Throws
   * GatewayError if a budget is too small. If absent, the slots belong to this process.
   */
  readonly take?: (lease: SlotLease) => Promise<boolean>;
}

/** A request in the queue. */
interface Waiter {
  readonly request: SlotRequest;
  /** The slots are acquired here, and the other replicas are asked for them. */
  isTaking: boolean;
  resolve(lease: SlotLease): void;
  reject(error: unknown): void;
}

interface FairQueueOptions extends Pick<SlotLeaseOptions, "newId"> {
  /** The limit of queued requests. */
  readonly max: number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  readonly timers: Timers;
}

/** After this many interactive requests in a row, a batch request goes first (starvation guard). */
const maxInteractiveInRow = 16;

export class FairQueue {
  readonly #options: FairQueueOptions;
  readonly #turns: Readonly<Record<Priority, KeyTurns<Waiter>>> = {
    interactive: new KeyTurns(),
    batch: new KeyTurns(),
  };
  /** Interactive requests that were admitted in a row while batch requests waited. */
  #interactiveInRow = 0;
  /** The next change of a limit that changes with time, while requests wait for its slots. */
  #refresh: { readonly at: number; readonly timer: unknown } | undefined;
  readonly #leaseOptions: SlotLeaseOptions;

  constructor(options: FairQueueOptions) {
    this.#options = options;
    const { clock, newId } = options;
    this.#leaseOptions = { clock, newId, onRelease: () => this.admitWaiting() };
  }

  get size(): number {
    return this.#turns.interactive.size + this.#turns.batch.size;
  }

  /** Acquires the slots at once if all may be free and no request is queued for any of them. */
  tryTake(neededSlots: readonly ConcurrencySlots[]): SlotLease | undefined {
    for (const slots of neededSlots) if (!slots.mayTake || slots.waiting > 0) return undefined;
    return new SlotLease(neededSlots, this.#leaseOptions);
  }

  /** Resolves when the request has its slots. Rejects with its `refusal`, or with the error of `take`. */
  async take(request: SlotRequest): Promise<SlotLease> {
    const { signal, neededSlots, queueTimeoutMs } = request;
    if (signal.aborted) throw request.refusal("aborted");
    const { promise, resolve, reject } = Promise.withResolvers<SlotLease>();
    const waiter: Waiter = { request, isTaking: false, resolve, reject };
    this.#turns[request.priority].add(request.key, waiter);
    for (const slots of neededSlots) slots.waiting++;
    this.#refreshAfter(refreshSlots(neededSlots, this.#options.clock()));
    if (canEnter(waiter)) this.admitWaiting();
    if (this.size > this.#options.max) this.#rejectNewest(waiter);
    const onAbort = (): void => this.#leave(waiter, request.refusal("aborted"));
    const onTimeout = (): void => {
      if (!request.hasStarted()) this.#leave(waiter, request.refusal("timeout"));
    };
    const { timers } = this.#options;
    const timer = timers.start(queueTimeoutMs, onTimeout);
    signal.addEventListener("abort", onAbort);
    try {
      return await promise;
    } finally {
      timers.stop(timer);
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Admits every request that can enter. Called whenever a slot becomes free. */
  admitWaiting(): void {
    if (this.size === 0) return;
    for (let waiter = this.#next(); waiter; waiter = this.#next()) {
      const lease = new SlotLease(waiter.request.neededSlots, this.#leaseOptions);
      if (waiter.request.take) void this.#takeShared(waiter, waiter.request.take, lease);
      else this.#admit(waiter, lease);
    }
  }

  /** Applies the limits that change with time, and admits requests. */
  refresh(): void {
    let earliestMs = Number.POSITIVE_INFINITY;
    const now = this.#options.clock();
    for (const turns of Object.values(this.#turns)) {
      for (const { request } of turns.values()) {
        earliestMs = Math.min(earliestMs, refreshSlots(request.neededSlots, now));
      }
    }
    this.admitWaiting();
    this.#refreshAfter(earliestMs);
  }

  close(): void {
    if (this.#refresh) this.#options.timers.stop(this.#refresh.timer);
    this.#refresh = undefined;
  }

  #admit(waiter: Waiter, lease: SlotLease): void {
    const { key, priority } = waiter.request;
    this.#turns[priority].takeTurn(key, waiter);
    this.#left(waiter);
    waiter.resolve(lease);
  }

  /** The request keeps its turn until it has its slots. */
  async #takeShared(
    waiter: Waiter,
    take: NonNullable<SlotRequest["take"]>,
    lease: SlotLease,
  ): Promise<void> {
    waiter.isTaking = true;
    let isTaken = false;
    try {
      isTaken = await take(lease);
    } catch (error) {
      this.#leave(waiter, error);
    }
    // False: the request has left the queue.
    const isQueued = waiter.isTaking;
    waiter.isTaking = false;
    if (isTaken && isQueued) {
      this.#admit(waiter, lease);
      this.admitWaiting();
      return;
    }
    lease.releaseUnused();
    this.#refreshAfter(refreshSlots(lease.slots, this.#options.clock()));
  }

  /** If the request is still in the queue, it leaves it with the error. */
  #leave(waiter: Waiter, error: unknown): void {
    const { key, priority } = waiter.request;
    if (!this.#turns[priority].remove(key, waiter)) return;
    this.#left(waiter);
    waiter.reject(error);
    this.admitWaiting();
  }

  #left(waiter: Waiter): void {
    waiter.isTaking = false;
    for (const slots of waiter.request.neededSlots) slots.waiting--;
  }

  /**
   * If the queue is full, the key with the most queued requests loses its newest, so that one key cannot fill the queue
   * for all. Batch requests are rejected before interactive ones.
   */
  #rejectNewest(newcomer: Waiter): void {
    const { interactive, batch } = this.#turns;
    const mayLeave = ({ request }: Waiter): boolean => !request.hasStarted();
    const newest =
      batch.newestOfLargest(mayLeave) ?? interactive.newestOfLargest(mayLeave) ?? newcomer;
    this.#leave(newest, newest.request.refusal("full"));
  }

  /** The next request that can enter. */
  #next(): Waiter | undefined {
    const { interactive, batch } = this.#turns;
    const isBatchNext = this.#interactiveInRow >= maxInteractiveInRow;
    const [first, second] = isBatchNext ? [batch, interactive] : [interactive, batch];
    const found = first.find(canEnter) ?? second.find(canEnter);
    if (!found) return undefined;
    const isCounted = found.request.priority === "interactive" && batch.size > 0;
    this.#interactiveInRow = isCounted ? this.#interactiveInRow + 1 : 0;
    return found;
  }

  /** One timer for all limits: it is started again only for an earlier change. */
  #refreshAfter(ms: number): void {
    const at = this.#options.clock() + ms;
    if (ms === Number.POSITIVE_INFINITY || (this.#refresh && this.#refresh.at <= at)) return;
    this.close();
    const onChange = (): void => {
      this.#refresh = undefined;
      this.refresh();
    };
    this.#refresh = { at, timer: this.#options.timers.start(ms, onChange) };
  }
}

/** Milliseconds until the first of these limits may change. */
function refreshSlots(neededSlots: readonly ConcurrencySlots[], now: number): number {
  let earliestMs = Number.POSITIVE_INFINITY;
  for (const slots of neededSlots) earliestMs = Math.min(earliestMs, slots.refresh(now));
  return earliestMs;
}

function canEnter({ isTaking, request }: Waiter): boolean {
  if (isTaking) return false;
  // A loop, because it runs for every queued request when a slot becomes free.
  for (const slots of request.neededSlots) if (!slots.mayTake) return false;
  return true;
}
