/** Stores what is paid for: while the storage or the database is not available, it is tried again. */
import { sleep, type Timers } from "../lib/timers.ts";

interface RetryOptions {
  /** Aborted when the gateway stops: then it is tried only once more. */
  readonly stopping: AbortSignal;
  readonly timers: Timers;
}

/** About a minute together. */
const delaysMs = [1000, 2000, 4000, 8000, 16_000, 32_000];

export async function retryStorage<T>(
  { stopping, timers }: RetryOptions,
  store: () => Promise<T>,
): Promise<T> {
  for (const delayMs of delaysMs) {
    try {
      return await store();
    } catch (error) {
      if (stopping.aborted) throw error;
      await sleep(delayMs, stopping, timers).catch(() => undefined);
    }
  }
  return store();
}
