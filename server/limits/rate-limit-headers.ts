/** Rate limit errors, with the wait for `retry-after`, and the headers `x-ratelimit-*` in OpenAI's format. */
import { GatewayError } from "../lib/gateway-error.ts";
import type { LimitScope, Shortage } from "./limiter.ts";
import type { Rate, RateCounter } from "./rate-limit-counters.ts";

// OpenAI's wording: "Rate limit reached for text-embedding-3-small in organization org-… on tokens per min (TPM):
// Limit 1000000, Used 976163, Requested 70716. Please try again in 2.812s." The type is `tokens` for tokens and
// `requests` for all other rates.
const rateNames: Readonly<Record<Rate, string>> = {
  requests: "requests per min (RPM)",
  tokens: "tokens per min (TPM)",
  images: "images per min (IPM)",
  pixels: "megapixels per min",
};

const million = 1_000_000;
const formatCount = (rate: Rate, count: number): string =>
  String(rate === "pixels" ? Math.round(count / 1000) / 1000 : count);

/** `owner`: the owner of the limit, for the message. */
export function rateLimitExceeded(exceeded: Shortage, model: string, owner: string): GatewayError {
  const { rate, limit, used, requested, waitMs } = exceeded;
  const type = rate === "tokens" ? "tokens" : "requests";
  const limitText = `${model}${owner} on ${rateNames[rate]}: Limit ${formatCount(rate, limit)}`;
  if (waitMs === Infinity) {
    return new GatewayError(
      "larger_than_limit",
      `Request too large for ${limitText}, Requested ${formatCount(rate, requested)}. The request must be made smaller in order to run successfully.`,
      { overrides: { type } },
    );
  }
  return new GatewayError(
    "rate_limited",
    `Rate limit reached for ${limitText}, Used ${formatCount(rate, used)}, Requested ${formatCount(rate, requested)}. Please try again in ${duration(waitMs)}.`,
    { overrides: { type }, retryAfterMs: waitMs },
  );
}

/** A duration in Go's format, which OpenAI uses: `12ms`, `1.5s`, `6m0s`. */
export function duration(ms: number): string {
  if (ms > 0 && ms < 1000) return `${ms}ms`;
  const seconds = `${(ms % 60_000) / 1000}s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes === 0) return seconds;
  const hours = Math.floor(minutes / 60);
  return hours === 0 ? `${minutes}m${seconds}` : `${hours}h${minutes % 60}m${seconds}`;
}

const names = [
  {
    rate: "requests",
    limit: "x-ratelimit-limit-requests",
    remaining: "x-ratelimit-remaining-requests",
    reset: "x-ratelimit-reset-requests",
  },
  {
    rate: "tokens",
    limit: "x-ratelimit-limit-tokens",
    remaining: "x-ratelimit-remaining-tokens",
    reset: "x-ratelimit-reset-tokens",
  },
  {
    rate: "images",
    limit: "x-ratelimit-limit-images",
    remaining: "x-ratelimit-remaining-images",
    reset: "x-ratelimit-reset-images",
  },
  {
    rate: "pixels",
    limit: "x-ratelimit-limit-megapixels",
    remaining: "x-ratelimit-remaining-megapixels",
    reset: "x-ratelimit-reset-megapixels",
  },
] as const satisfies readonly Readonly<Record<"rate" | "limit" | "remaining" | "reset", string>>[];

/**
 * Reports the scope with the least remaining items for each rate. Writes into the given object: this runs for every
 * response.
 */
export function writeRateLimitHeaders(
  scopes: readonly LimitScope[],
  now: number,
  headers: Record<string, string>,
): void {
  for (const { rate, limit, remaining, reset } of names) {
    let least = Infinity;
    let tightest: RateCounter | undefined;
    for (const scope of scopes) {
      const bucket = scope.bucket(rate);
      const left = bucket?.remaining(now) ?? Infinity;
      if (left >= least) continue;
      least = left;
      tightest = bucket;
    }
    if (!tightest) continue;
    const unit = rate === "pixels" ? million : 1;
    headers[limit] = String(tightest.limit / unit);
    headers[remaining] = String(least / unit);
    headers[reset] = duration(tightest.msUntilFull(now));
  }
}
