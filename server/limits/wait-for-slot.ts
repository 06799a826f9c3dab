/**
 * Queues for concurrency slots until they are free, the wait times out, the request is shed or the client disconnects.
 */
import type { ConcurrencySlots } from "./concurrency-slots.ts";
import type { FairQueue, Waiter } from "./fair-queue.ts";

export interface SlotWait
  extends Pick<Waiter, "key" | "priority" | "neededSlots" | "cost" | "hasStarted"> {
  /** The queue timeout. */
  readonly waitMs: number;
  readonly signal: () => AbortSignal;
  readonly clock: () => number;
}

/** The request got no slot. */
export class NoSlot extends Error {
  override readonly name = "NoSlot";
  readonly reason: "timeout" | "shed" | "full";
  /** The expected wait for a slot, for `retry-after`. */
  readonly retryAfterMs: number;

  constructor(reason: NoSlot["reason"], neededSlots: readonly ConcurrencySlots[]) {
    super(reason);
    this.reason = reason;
    this.retryAfterMs = expectedWaitMs(neededSlots);
  }
}

const [minRetryAfterMs, maxRetryAfterMs] = [1000, 60_000];

function expectedWaitMs(neededSlots: readonly ConcurrencySlots[]): number {
  const full = neededSlots.filter(({ hasFreeSlot }) => !hasFreeSlot);
  const longest = Math.max(0, ...full.map(({ expectedWaitMs: ms }) => ms ?? 0));
  return Math.min(maxRetryAfterMs, Math.max(minRetryAfterMs, Math.ceil(longest)));
}

/** Queues for the slots, and resolves when they are taken. Throws NoSlot, or the signal's reason. */
export async function waitForSlot(queue: FairQueue, slotWait: SlotWait): Promise<void> {
  const { key, priority, neededSlots, cost, hasStarted, waitMs, clock } = slotWait;
  const signal = slotWait.signal();
  if (signal.aborted) throw signal.reason;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const now = clock();
  const waiter: Waiter = {
    key,
    priority,
    neededSlots,
    cost,
    deadline: now + waitMs,
    hasStarted,
    admit: () => resolve(),
    reject: (reason) => reject(new NoSlot(reason, neededSlots)),
  };
  const onAbort = (): void => {
    // If the request already holds its slots, its owner releases them.
    queue.cancel(waiter, clock());
    reject(signal.reason);
  };
  if (!queue.wait(waiter, now)) throw new NoSlot("full", neededSlots);
  signal.addEventListener("abort", onAbort);
  try {
    await promise;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
