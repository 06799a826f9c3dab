/**
 * Leaves the core of this process and the upstreams to interactive requests: while clients wait for responses, the
 * groups of embedding lines begin one after the other, with time in between. Otherwise they begin at once.
 */

interface PaceOptions {
  /** Whether clients wait for responses. */
  readonly isServing: () => boolean;
  /** The time between the beginnings of two groups. A group takes a few milliseconds of CPU. */
  readonly intervalMs?: number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  readonly sleep?: (ms: number) => Promise<void>;
}

/** Resolves when the next group may begin. */
export type Pace = () => Promise<void>;

export function createPace({
  isServing,
  intervalMs = 25,
  clock,
  sleep = Bun.sleep,
}: PaceOptions): Pace {
  let nextAt = Number.NEGATIVE_INFINITY;
  return async () => {
    if (!isServing()) return;
    const now = clock();
    nextAt = Math.max(now, nextAt + intervalMs);
    if (nextAt > now) await sleep(nextAt - now);
  };
}
