/**
 * Answers that say yes, and also that there will be no more for a while: a target whose limit is used up is better left
 * alone than asked until it says no. Every answer is looked at, because the first that says so may come at any time:
 * vendors limit each model by itself, and others may use the same account. Our own client has seen it in passing.
 */
import type { UpstreamResponse } from "./adapter.ts";
import { rateLimitExhaustedMs } from "./adapters/wire/rate-limit-reset.ts";
import type { Target } from "./contract.ts";

/** Told that a target has nothing left for so long. */
export type OnRateLimitExhausted = (target: Target, waitMs: number) => void;

export const createRateLimitObserver =
  (onSpent: OnRateLimitExhausted) =>
  (reply: UpstreamResponse, target: Target): void => {
    if (reply.seemsSpent === false) return;
    const waitMs = rateLimitExhaustedMs(reply.headers);
    if (waitMs !== undefined) onSpent(target, waitMs);
  };
