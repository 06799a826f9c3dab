/** Takes concurrency slots at once, or queues until they are free, the wait times out, the request is shed or the client disconnects. */
import type { AbortSignalLike } from "../lib/abort-signal.ts";
import type { ConcurrencySlots } from "./concurrency-slots.ts";
import type { FairQueue, Waiter } from "./fair-queue.ts";

export interface SlotWait extends Pick<Waiter, "key" | "neededSlots" | "cost" | "hasStarted"> {
  /** The queue timeout. */
  readonly waitMs: number;
  readonly signal: () => AbortSignalLike;
  readonly clock: () => number;
}

/** The request got no slot. */
export class NoSlot extends Error {
  override readonly name = "NoPlace";
  readonly reason: "timeout" | "shed" | "full";
  /** The expected wait for a slot, for `retry-after`. */
  readonly retryAfterMs: number;

  constructor(why: NoSlot["reason"], gates: readonly ConcurrencySlots[]) {
    super(why);
    this.reason = why;
    this.retryAfterMs = expectedWaitMs(gates);
  }
}

const [soonestMs, latestMs] = [1000, 60_000];

function expectedWaitMs(gates: readonly ConcurrencySlots[]): number {
  const full = gates.filter(({ hasFreeSlot }) => !hasFreeSlot);
  const longest = Math.max(0, ...full.map(({ expectedWaitMs: ms }) => ms ?? 0));
  return Math.min(latestMs, Math.max(soonestMs, Math.ceil(longest)));
}

/** Undefined: the slots are taken. A promise: they are once it resolves. Throws NoSlot, or the signal's reason. */
export function waitForSlot(queue: FairQueue, wanted: SlotWait): Promise<void> | undefined {
  return queue.tryEnter(wanted.neededSlots) ? undefined : wait(queue, wanted);
}

async function wait(queue: FairQueue, wanted: SlotWait): Promise<void> {
  const { key, neededSlots: gates, cost, hasStarted, waitMs, clock } = wanted;
  const signal = wanted.signal();
  if (signal.aborted) throw signal.reason;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const now = clock();
  const waiter: Waiter = {
    key,
    neededSlots: gates,
    cost,
    deadline: now + waitMs,
    hasStarted,
    admit: () => resolve(),
    reject: (why) => reject(new NoSlot(why, gates)),
  };
  const leave = (): void => {
    // If the slots were taken meanwhile, the owner releases them.
    queue.cancel(waiter, clock());
    reject(signal.reason);
  };
  if (!queue.wait(waiter, now)) throw new NoSlot("full", gates);
  signal.addEventListener("abort", leave);
  try {
    await promise;
  } finally {
    signal.removeEventListener("abort", leave);
  }
}
