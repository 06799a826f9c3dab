/** A call before gates: it goes in at once, or waits until it can, is too late, is sent away or leaves. */
import type { Signal } from "../lib/signal.ts";
import type { Gate } from "./concurrency-gate.ts";
import type { FairQueue, Waiter } from "./fair-queue.ts";

export interface Wanted extends Pick<Waiter, "key" | "gates" | "cost" | "begun"> {
  /** The longest wait. */
  readonly waitMs: number;
  readonly signal: () => Signal;
  readonly clock: () => number;
}

/** Why there is no place. */
export class NoPlace extends Error {
  override readonly name = "NoPlace";
  readonly why: "late" | "shed" | "full";
  /** When another try may have better luck. */
  readonly retryAfterMs: number;

  constructor(why: NoPlace["why"], gates: readonly Gate[]) {
    super(why);
    this.why = why;
    this.retryAfterMs = expectedMs(gates);
  }
}

const [soonestMs, latestMs] = [1000, 60_000];

function expectedMs(gates: readonly Gate[]): number {
  const full = gates.filter(({ hasRoom }) => !hasRoom);
  const longest = Math.max(0, ...full.map(({ expectedMs: ms }) => ms ?? 0));
  return Math.min(latestMs, Math.max(soonestMs, Math.ceil(longest)));
}

/** Undefined: it is inside. A promise: it is when this resolves. Throws NoPlace, or the reason of the signal. */
export function waitForPlace(queue: FairQueue, wanted: Wanted): Promise<void> | undefined {
  return queue.enter(wanted.gates) ? undefined : wait(queue, wanted);
}

async function wait(queue: FairQueue, wanted: Wanted): Promise<void> {
  const { key, gates, cost, begun, waitMs, clock } = wanted;
  const signal = wanted.signal();
  if (signal.aborted) throw signal.reason;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const now = clock();
  const waiter: Waiter = {
    key,
    gates,
    cost,
    until: now + waitMs,
    begun,
    go: () => resolve(),
    giveUp: (why) => reject(new NoPlace(why, gates)),
  };
  const leave = (): void => {
    // Inside already, perhaps: then it is for whoever went in to leave.
    queue.leave(waiter, clock());
    reject(signal.reason);
  };
  if (!queue.wait(waiter, now)) throw new NoPlace("full", gates);
  signal.addEventListener("abort", leave);
  try {
    await promise;
  } finally {
    signal.removeEventListener("abort", leave);
  }
}
