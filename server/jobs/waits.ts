/**
 * When something is tried again: a job, a range, a line, or the storage of a result. And when a group of lines begins,
 * which leaves the core of this process and the upstreams to interactive requests.
 */
import { sleep, type Timers } from "../lib/timers.ts";

interface RetryBounds {
  readonly minMs?: number;
  readonly maxMs?: number;
  /** The wait that the response suggests. 0, the default: none. */
  readonly suggestedMs?: number;
}

/** The time until the next attempt: what the response suggests, or longer the longer the attempts have taken. */
export const retryDelay = (
  elapsedMs: number,
  { minMs = 1000, maxMs = 60_000, suggestedMs = 0 }: RetryBounds = {},
): number => Math.min(Math.max(suggestedMs > 0 ? suggestedMs : elapsedMs / 10, minMs), maxMs);

/** The time of the next attempt, in Unix milliseconds. */
export const retryAt = (since: number, now: number, bounds?: RetryBounds): number =>
  now + retryDelay(now - since, bounds);

interface RetryOptions {
  /** Aborted when the gateway stops: then it is tried only once more. */
  readonly stopping: AbortSignal;
  readonly timers: Timers;
}

const storageMs = 60_000;

/** Stores what is paid for: while the storage or the database is not available, it is tried again, for a minute. */
export async function retryStorage<T>(
  { stopping, timers }: RetryOptions,
  store: () => Promise<T>,
): Promise<T> {
  let waitedMs = 0;
  while (waitedMs < storageMs) {
    try {
      return await store();
    } catch (error) {
      if (stopping.aborted) throw error;
      const delayMs = retryDelay(waitedMs);
      await sleep(delayMs, stopping, timers).catch(() => undefined);
      waitedMs += delayMs;
    }
  }
  return store();
}

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

/** While clients wait for responses, groups begin one after the other, with time in between. Otherwise at once. */
export function createPace({ isServing, clock, timers, stopping }: PaceOptions): Pace {
  let nextAt = Number.NEGATIVE_INFINITY;
  return async () => {
    if (!isServing()) return;
    const now = clock();
    nextAt = Math.max(now, nextAt + intervalMs);
    if (nextAt > now) await sleep(nextAt - now, stopping, timers).catch(() => undefined);
  };
}
