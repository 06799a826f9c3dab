/** How long the edge waits for more of a body. One clock for all: a timer for each would cost more than most bodies. */
import { GatewayError } from "../std/gateway-error.ts";

export interface Patience {
  /** What `take` makes of it, or request_timeout when it takes too long. A failure to come is told as `broken` says. */
  wait<T, R>(
    coming: Promise<T>,
    take: (value: T) => R,
    broken: (error: unknown) => unknown,
  ): Promise<R>;
  close(): void;
}

/** `clock`: milliseconds, monotonic. */
export function createPatience(ms: number, clock: () => number): Patience {
  const waiting = new Set<{ readonly until: number; giveUp(error: GatewayError): void }>();
  const ticking = setInterval(
    () => {
      const now = clock();
      for (const entry of waiting) {
        if (entry.until > now) continue;
        waiting.delete(entry);
        entry.giveUp(tooSlow(ms));
      }
    },
    Math.min(1000, ms / 4),
  );
  // Whoever waits here has a connection, and that keeps the process alive.
  ticking.unref();
  return {
    // One promise made by hand: this happens once for every call, and a race would make four.
    wait: (coming, take, broken) =>
      new Promise((resolve, reject) => {
        const entry = { until: clock() + ms, giveUp: reject };
        waiting.add(entry);
        coming.then(
          (value) => {
            waiting.delete(entry);
            try {
              resolve(take(value));
            } catch (error) {
              reject(error);
            }
          },
          (error) => {
            waiting.delete(entry);
            reject(broken(error));
          },
        );
      }),
    close: () => clearInterval(ticking),
  };
}

const tooSlow = (ms: number): GatewayError =>
  new GatewayError(
    "request_timeout",
    `The body did not arrive in time: the gateway waited ${ms / 1000} s for the rest of it.`,
  );
