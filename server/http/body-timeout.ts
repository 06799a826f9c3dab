/** How long the edge waits for more of a body. One clock for all: a timer for each would cost more than most bodies. */
import { GatewayError } from "../lib/gateway-error.ts";

/** How a body has arrived so far. */
export interface Progress {
  bytes: number;
  /** Spent waiting for the client. Time in which the gateway itself was busy does not count. */
  waitedMs: number;
}

export interface BodyTimeout {
  /**
   * What `take` makes of it, or request_timeout when it takes too long. A failure to come is told as `broken` says.
   * `progress`: of the body that it is a part of, which must keep up a minimum rate as well.
   */
  wait<T, R>(
    coming: Promise<T>,
    take: (value: T) => R,
    broken: (error: unknown) => unknown,
    progress?: Progress,
  ): Promise<R>;
  close(): void;
}

export interface BodyTimeoutOptions {
  /** The longest wait without a byte. */
  readonly idleMs: number;
  /** Bytes per second that a body must bring on average, once `ms` are over. 0: no minimum. */
  readonly minRate: number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

export function createBodyTimeout({ idleMs: ms, minRate, clock }: BodyTimeoutOptions): BodyTimeout {
  const waiting = new Set<Entry>();
  const ticking = setInterval(
    () => {
      const now = clock();
      for (const entry of waiting) {
        if (entry.until > now) continue;
        waiting.delete(entry);
        entry.reject(entry.isTrickling ? belowMinimum(minRate) : tooSlow(ms));
      }
    },
    Math.min(1000, ms / 4),
  );
  /** A body that brings a byte now and then is not waited for without end: it would hold its room on disk. */
  const timeLeft = ({ bytes, waitedMs }: Progress): number =>
    minRate === 0 ? ms : ms + (bytes / minRate) * 1000 - waitedMs;
  // Whoever waits here has a connection, and that keeps the process alive.
  ticking.unref();
  return {
    // One promise made by hand: this happens once for every call, and a race would make four.
    wait: (coming, take, broken, progress) =>
      new Promise((resolve, reject) => {
        const began = clock();
        const leftMs = progress ? timeLeft(progress) : ms;
        const isTrickling = leftMs < ms;
        const entry = { until: began + Math.min(ms, leftMs), isTrickling, reject };
        waiting.add(entry);
        coming.then(
          (value) => {
            waiting.delete(entry);
            if (progress) progress.waitedMs += clock() - began;
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

interface Entry {
  readonly until: number;
  readonly isTrickling: boolean;
  reject(error: GatewayError): void;
}

const belowMinimum = (minRate: number): GatewayError =>
  new GatewayError(
    "request_timeout",
    `The body arrived too slowly: it must bring at least ${minRate} bytes per second on average. Send it over a faster connection, or send a smaller one.`,
  );

const tooSlow = (ms: number): GatewayError =>
  new GatewayError(
    "request_timeout",
    `The body did not arrive in time: the gateway waited ${ms / 1000} s for the rest of it.`,
  );
