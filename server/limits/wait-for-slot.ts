/** A call before gates: it goes in at once, or waits until it can, is too late, is sent away or leaves. */
import type { Signal } from "../lib/signal.ts";
import type { ConcurrencySlots } from "./concurrency-gate.ts";
import type { FairQueue, Waiter } from "./fair-queue.ts";

export interface SlotWait extends Pick<Waiter, "key" | "gates" | "cost" | "hasStarted"> {
  /** The longest wait. */
  readonly waitMs: number;
  readonly signal: () => Signal;
  readonly clock: () => number;
}

/** Why there is no place. */
export class NoSlot extends Error {
  override readonly name = "NoPlace";
  readonly why: "timeout" | "shed" | "full";
  /** When another try may have better luck. */
  readonly retryAfterMs: number;

  constructor(why: NoSlot["why"], gates: readonly ConcurrencySlots[]) {
    super(why);
    this.why = why;
    this.retryAfterMs = expectedWaitMs(gates);
  }
}

const [soonestMs, latestMs] = [1000, 60_000];

function expectedWaitMs(gates: readonly ConcurrencySlots[]): number {
  const full = gates.filter(({ hasFreeSlot }) => !hasFreeSlot);
  const longest = Math.max(0, ...full.map(({ expectedWaitMs: ms }) => ms ?? 0));
  return Math.min(latestMs, Math.max(soonestMs, Math.ceil(longest)));
}

/** Undefined: it is inside. A promise: it is when this resolves. Throws NoPlace, or the reason of the signal. */
export function waitForSlot(queue: FairQueue, wanted: SlotWait): Promise<void> | undefined {
  return queue.tryEnter(wanted.gates) ? undefined : wait(queue, wanted);
}

async function wait(queue: FairQueue, wanted: SlotWait): Promise<void> {
  const { key, gates, cost, hasStarted, waitMs, clock } = wanted;
  const signal = wanted.signal();
  if (signal.aborted) throw signal.reason;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const now = clock();
  const waiter: Waiter = {
    key,
    gates,
    cost,
    deadline: now + waitMs,
    hasStarted,
    admit: () => resolve(),
    reject: (why) => reject(new NoSlot(why, gates)),
  };
  const leave = (): void => {
    // Inside already, perhaps: then it is for whoever went in to leave.
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
