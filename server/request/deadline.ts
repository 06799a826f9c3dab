/** Request timeout: one signal per request that fires at the timeout or when the client disconnects. One timer serves all requests. */

import { type AbortSignalLike, AbortSource } from "../lib/abort-signal.ts";
import { GatewayError } from "../lib/gateway-error.ts";

export interface Deadline {
  readonly signal: AbortSignalLike;
  /** Must be called when the request ends, on every path. */
  end(): void;
}

/** `client` is called only at a tick: most requests have ended by then, and creating an AbortSignal is not free. */
export type StartDeadline = (client: () => AbortSignal, ms: number) => Deadline;

/** The interval of the shared timer: a timer per request would cost more CPU than the rest of the deadline. */
const tickMs = 50;

class RunningDeadline implements Deadline {
  readonly signal = new AbortSource();
  readonly until: number;
  readonly #ms: number;
  readonly #running: Set<RunningDeadline>;
  readonly #client: () => AbortSignal;

  constructor(running: Set<RunningDeadline>, client: () => AbortSignal, now: number, ms: number) {
    this.#running = running;
    this.#client = client;
    this.until = now + ms;
    this.#ms = ms;
    running.add(this);
  }

  check(now: number): void {
    if (this.until <= now) {
      this.signal.abort(
        new GatewayError(
          "upstream_timeout",
          `The upstream did not respond within ${this.#ms / 1000} s.`,
        ),
      );
    } else if (this.#client().aborted) this.signal.abort(clientClosedError());
  }

  end(): void {
    this.#running.delete(this);
  }
}

/** `clock`: milliseconds, monotonic. */
export function createDeadlines(clock: () => number): {
  readonly start: StartDeadline;
  close(): void;
} {
  const running = new Set<RunningDeadline>();
  const timer = setInterval(() => {
    const now = clock();
    for (const deadline of running) deadline.check(now);
  }, tickMs);
  return {
    start: (client, ms) => new RunningDeadline(running, client, clock(), ms),
    close: () => clearInterval(timer),
  };
}

export const clientClosedError = (): GatewayError =>
  new GatewayError("client_closed", "The client closed the connection.");
