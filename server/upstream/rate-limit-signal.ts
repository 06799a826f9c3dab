/**
 * Detects successful responses whose headers say that the rate limit is used up: such a target cools down before it
 * responds with 429. Every response is checked, because vendors limit each model separately and other clients may use
 * the same account. The gateway's own HTTP client checks the headers while parsing.
 */
import type { UpstreamResponse } from "./adapter.ts";
import { rateLimitExhaustedMs } from "./adapters/wire/rate-limit-reset.ts";
import type { Target } from "./contract.ts";

/** Called when a target's rate limit is exhausted for `waitMs`. */
export type OnRateLimitExhausted = (target: Target, waitMs: number) => void;

export const createRateLimitObserver =
  (onRateLimitExhausted: OnRateLimitExhausted) =>
  (response: UpstreamResponse, target: Target): void => {
    if (response.mayReportExhaustedLimit === false) return;
    const waitMs = rateLimitExhaustedMs(response.headers);
    if (waitMs !== undefined) onRateLimitExhausted(target, waitMs);
  };
