/** One signal for the whole journey: it fires when the caller hangs up or the time is over. */
import { GatewayError } from "../std/gateway-error.ts";

export interface Deadline {
  readonly signal: AbortSignal;
  /** Must be called when the journey is over, however it went. */
  end(): void;
}

export type StartDeadline = (caller: AbortSignal, ms: number) => Deadline;

interface Journey {
  readonly controller: AbortController;
  readonly until: number;
  readonly ms: number;
}

/** How often the clock is looked at: a timer for each call would cost more than the call's own work. */
const tickMs = 100;

/** `clock`: milliseconds, monotonic. */
export function createDeadlines(clock: () => number): {
  readonly start: StartDeadline;
  close(): void;
} {
  const journeys = new Set<Journey>();
  const ticking = setInterval(() => {
    const now = clock();
    for (const journey of journeys) if (journey.until <= now) giveUp(journey);
  }, tickMs);
  return {
    start: (caller, ms) => {
      const controller = new AbortController();
      const journey: Journey = { controller, until: clock() + ms, ms };
      journeys.add(journey);
      const hangUp = (): void => controller.abort(hungUp());
      if (caller.aborted) hangUp();
      else caller.addEventListener("abort", hangUp);
      return {
        signal: controller.signal,
        end: () => {
          journeys.delete(journey);
          caller.removeEventListener("abort", hangUp);
        },
      };
    },
    close: () => clearInterval(ticking),
  };
}

const giveUp = ({ controller, ms }: Journey): void =>
  controller.abort(
    new GatewayError("upstream_timeout", `The upstream did not answer within ${ms / 1000} s.`),
  );

export const hungUp = (): GatewayError =>
  new GatewayError("client_closed", "The caller closed the connection.");
