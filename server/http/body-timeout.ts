/** Body timeout against slow clients: how long to wait for more bytes of a request body. */
import { GatewayError } from "../lib/gateway-error.ts";

/** The progress of a body so far. */
interface Progress {
  bytes: number;
  /** Time spent waiting for the client. Time in which the gateway itself was busy does not count. */
  waitedMs: number;
}

export interface BodyTimeout {
  /**
   * Resolves with the chunk, or rejects with request_timeout when it takes too long, or with `broken(error)` when
   * `chunk` rejects. `progress`: the progress of the whole body, which must also keep the minimum rate.
   */
  wait<T>(chunk: Promise<T>, broken: (error: unknown) => unknown, progress: Progress): Promise<T>;
}

interface BodyTimeoutOptions {
  /** The longest time without a byte. */
  readonly idleMs: number;
  /**
   * Minimum average rate of a body in bytes per second, after the first `idleMs`. The default is 16 KiB. 0: no
   * minimum.
   */
  readonly minRate?: number | undefined;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

/** Mobile connections are faster. */
const defaultMinRate = 16 * 1024;

export function createBodyTimeout({
  idleMs,
  minRate = defaultMinRate,
  clock,
}: BodyTimeoutOptions): BodyTimeout {
  /**
   * Bounds the total wait for a client that sends a byte now and then (Slowloris): the body of such a client would
   * hold temp storage forever.
   */
  const timeLeft = ({ bytes, waitedMs }: Progress): number =>
    minRate === 0 ? idleMs : idleMs + (bytes / minRate) * 1000 - waitedMs;
  return {
    // One promise made by hand: this runs once per request, and Promise.race would make four.
    wait: (chunk, broken, progress) =>
      new Promise((resolve, reject) => {
        const began = clock();
        const leftMs = timeLeft(progress);
        const isTrickling = leftMs < idleMs;
        const timer = setTimeout(
          () => reject(isTrickling ? belowMinimum(minRate) : bodyTimedOut(idleMs)),
          Math.max(0, Math.min(idleMs, leftMs)),
        );
        chunk.then(
          (value) => {
            clearTimeout(timer);
            progress.waitedMs += clock() - began;
            resolve(value);
          },
          (error) => {
            clearTimeout(timer);
            reject(broken(error));
          },
        );
      }),
  };
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
