/**
 * Body timeout against slow clients (slowloris): how long to wait for more bytes of a request body. One timer
 * serves all bodies, because its precision of up to a second is enough; so a wait for bytes starts and stops no timer.
 */
import { GatewayError } from "../lib/gateway-error.ts";

/** The progress of a body so far. */
export interface Progress {
  bytes: number;
  /** Time spent waiting for the client. Time in which the gateway itself was busy does not count. */
  waitedMs: number;
}

export interface BodyTimeout {
  /**
   * Resolves with `take(value)`, or rejects with request_timeout when `chunk` takes too long, or with `broken(error)`
   * when `chunk` rejects. `progress`: the progress of the whole body, which must also keep the minimum rate.
   */
  wait<T, R>(
    chunk: Promise<T>,
    take: (value: T) => R,
    broken: (error: unknown) => unknown,
    progress?: Progress,
  ): Promise<R>;
  close(): void;
}

export interface BodyTimeoutOptions {
  /** The longest time without a byte. */
  readonly idleMs: number;
  /** Minimum average rate of a body in bytes per second, after the first `idleMs`. 0: no minimum. */
  readonly minRate: number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

export function createBodyTimeout({ idleMs, minRate, clock }: BodyTimeoutOptions): BodyTimeout {
  const pending = new Set<Entry>();
  const ticker = setInterval(
    () => {
      const now = clock();
      for (const entry of pending) {
        if (entry.until > now) continue;
        pending.delete(entry);
        entry.reject(entry.isTrickling ? belowMinimum(minRate) : bodyTimedOut(idleMs));
      }
    },
    Math.min(1000, idleMs / 4),
  );
  /**
   * Bounds the total wait for a client that sends a byte now and then (Slowloris): the body of such a client would
   * hold temp storage forever.
   */
  const timeLeft = ({ bytes, waitedMs }: Progress): number =>
    minRate === 0 ? idleMs : idleMs + (bytes / minRate) * 1000 - waitedMs;
  // The timer need not keep the process alive: each wait belongs to a connection, which does so.
  ticker.unref();
  return {
    // One promise made by hand: this runs once per request, and Promise.race would make four.
    wait: (chunk, take, broken, progress) =>
      new Promise((resolve, reject) => {
        const began = clock();
        const leftMs = progress ? timeLeft(progress) : idleMs;
        const isTrickling = leftMs < idleMs;
        const entry = { until: began + Math.min(idleMs, leftMs), isTrickling, reject };
        pending.add(entry);
        chunk.then(
          (value) => {
            pending.delete(entry);
            if (progress) progress.waitedMs += clock() - began;
            try {
              resolve(take(value));
            } catch (error) {
              reject(error);
            }
          },
          (error) => {
            pending.delete(entry);
            reject(broken(error));
          },
        );
      }),
    close: () => clearInterval(ticker),
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
    `The request body arrived too slowly: the minimum is ${minRate} bytes per second on average. Use a faster connection, or send a smaller body.`,
  );

const bodyTimedOut = (idleMs: number): GatewayError =>
  new GatewayError(
    "request_timeout",
    `The request body did not arrive in time: the gateway waited ${idleMs / 1000} s for the rest of it. Send the whole body without pauses, and retry.`,
  );
