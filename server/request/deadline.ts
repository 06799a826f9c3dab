/** One signal for the whole journey: it fires when the caller hangs up or the time is over. */

import { type AbortSignalLike, AbortSource } from "../lib/abort-signal.ts";
import { GatewayError } from "../lib/gateway-error.ts";

export interface Deadline {
  readonly signal: AbortSignalLike;
  /** Must be called when the journey is over, however it went. */
  end(): void;
}

/** `caller`: looked at only when the call has lasted a moment; most are over by then, and looking is not free. */
export type StartDeadline = (caller: () => AbortSignal, ms: number) => Deadline;

/** How often the clock and the callers are looked at: a timer for each call would cost more than its own work. */
const tickMs = 50;

class RunningDeadline implements Deadline {
  readonly signal = new AbortSource();
  readonly until: number;
  readonly #ms: number;
  readonly #journeys: Set<RunningDeadline>;
  readonly #caller: () => AbortSignal;

  constructor(journeys: Set<RunningDeadline>, caller: () => AbortSignal, now: number, ms: number) {
    this.#journeys = journeys;
    this.#caller = caller;
    this.until = now + ms;
    this.#ms = ms;
    journeys.add(this);
  }

  look(now: number): void {
    if (this.until <= now) {
      this.signal.abort(
        new GatewayError(
          "upstream_timeout",
          `The upstream did not answer within ${this.#ms / 1000} s.`,
        ),
      );
    } else if (this.#caller().aborted) this.signal.abort(clientClosedError());
  }

  end(): void {
    this.#journeys.delete(this);
  }
}

/** `clock`: milliseconds, monotonic. */
export function createDeadlines(clock: () => number): {
  readonly start: StartDeadline;
  close(): void;
} {
  const journeys = new Set<RunningDeadline>();
  const ticking = setInterval(() => {
    const now = clock();
    for (const journey of journeys) journey.look(now);
  }, tickMs);
  return {
    start: (caller, ms) => new RunningDeadline(journeys, caller, clock(), ms),
    close: () => clearInterval(ticking),
  };
}

export const clientClosedError = (): GatewayError =>
  new GatewayError("client_closed", "The caller closed the connection.");
