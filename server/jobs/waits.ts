/**
 * When something is tried again: a range, a line, or the storage of a result. And when a group of lines begins, which
 * leaves the core of this process and the upstreams to interactive requests.
 */
import { sleep, type Timers } from "../lib/timers.ts";

const [minLaterMs, maxLaterMs] = [1000, 60_000];

/** When a range or a job is claimed again: the longer it has taken, the longer it waits. In Unix milliseconds. */
export const laterOf = (since: number, now: number, minMs = minLaterMs): number =>
  now + Math.min(Math.max((now - since) / 10, minMs), maxLaterMs);

const [minDelayMs, maxDelayMs] = [500, 30_000];

/** How long this process waits before the next attempt: as long as it was told, else longer after each attempt. */
export function delayAfter(attempt: number, suggestedMs = 0): number {
  const delayMs = suggestedMs > 0 ? suggestedMs : minDelayMs * 2 ** Math.min(attempt, 10);
  return Math.min(Math.max(delayMs, minDelayMs), maxDelayMs);
}

interface RetryOptions {
  /** Aborted when the gateway stops: then it is tried only once more. */
  readonly stopping: AbortSignal;
  readonly timers: Timers;
}

/** About a minute together. */
const storageAttempts = 8;

/** Stores what is paid for: while the storage or the database is not available, it is tried again. */
export async function retryStorage<T>(
  { stopping, timers }: RetryOptions,
  store: () => Promise<T>,
): Promise<T> {
  for (let attempt = 0; attempt < storageAttempts - 1; attempt++) {
    try {
      return await store();
    } catch (error) {
      if (stopping.aborted) throw error;
      await sleep(delayAfter(attempt), stopping, timers).catch(() => undefined);
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
