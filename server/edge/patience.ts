/** How long the edge waits for more of a body. One clock for all: a timer for each would cost more than most bodies. */
import { GatewayError } from "../std/gateway-error.ts";

export interface Patience {
  /** The same outcome, or request_timeout when it takes too long. */
  wait<T>(coming: Promise<T>): Promise<T>;
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
    wait: (coming) =>
      new Promise((resolve, reject) => {
        const entry = { until: clock() + ms, giveUp: reject };
        waiting.add(entry);
        coming.then(
          (value) => {
            waiting.delete(entry);
            resolve(value);
          },
          (error) => {
            waiting.delete(entry);
            reject(error);
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
