/**
 * Leaves the core of this process and the upstreams to interactive requests: while clients wait for responses, the
 * groups of embedding lines begin one after the other, with time in between. Otherwise they begin at once.
 */
import { sleep, type Timers } from "../lib/timers.ts";

interface PaceOptions {
  /** Whether clients wait for responses. */
  readonly isServing: () => boolean;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  readonly timers: Timers;
  /** Aborted when the gateway stops: no group waits any more. */
  readonly stopping: AbortSignal;
}

/** The time between the beginnings of two groups. A group takes a few milliseconds of CPU. */
const intervalMs = 25;

/** Resolves when the next group may begin. */
export type Pace = () => Promise<void>;

export function createPace({ isServing, clock, timers, stopping }: PaceOptions): Pace {
  let nextAt = Number.NEGATIVE_INFINITY;
  return async () => {
    if (!isServing()) return;
    const now = clock();
    nextAt = Math.max(now, nextAt + intervalMs);
    if (nextAt > now) await sleep(nextAt - now, stopping, timers).catch(() => undefined);
  };
}
