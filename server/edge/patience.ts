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
      for (const { until, giveUp } of waiting) if (until <= now) giveUp(tooSlow(ms));
    },
    Math.min(1000, ms / 4),
  );
  // Whoever waits here has a connection, and that keeps the process alive.
  ticking.unref();
  return {
    wait: async (coming) => {
      const { promise: late, reject: giveUp } = Promise.withResolvers<never>();
      const entry = { until: clock() + ms, giveUp };
      waiting.add(entry);
      try {
        return await Promise.race([coming, late]);
      } finally {
        waiting.delete(entry);
      }
    },
    close: () => clearInterval(ticking),
  };
}

const tooSlow = (ms: number): GatewayError =>
  new GatewayError(
    "request_timeout",
    `The body did not arrive in time: the gateway waited ${ms / 1000} s for the rest of it.`,
  );
