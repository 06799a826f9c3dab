/** Rate limit errors, with the wait for `retry-after`, and the headers `x-ratelimit-*` in OpenAI's format. */
import { type Rate, rateLimits } from "../../contract/limits-and-budgets.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { LimitScope, Shortage } from "./limiter.ts";
import type { TokenBucket } from "./token-bucket.ts";

// OpenAI's wording: "Rate limit reached for text-embedding-3-small in organization org-… on tokens per min (TPM):
// Limit 1000000, Used 976163, Requested 70716. Please try again in 2.812s." The type is `tokens` for tokens and
// `requests` for all other rates.
const definitions = Object.fromEntries(rateLimits.map((each) => [each.rate, each])) as Record<
  Rate,
  (typeof rateLimits)[number]
>;

const formatCount = (count: number, unit: number): string =>
  String(unit === 1 ? count : Math.round((count / unit) * 1000) / 1000);

/** `owner`: the owner of the limit, for the message. */
export function rateLimitExceeded(exceeded: Shortage, model: string, owner: string): GatewayError {
  const { rate, limit, used, requested, waitMs } = exceeded;
  const type = rate === "tokens" ? "tokens" : "requests";
  const { text, unit } = definitions[rate];
  const limitText = `${model}${owner} on ${text}: Limit ${formatCount(limit, unit)}`;
  if (waitMs === Infinity) {
    return new GatewayError(
      "larger_than_limit",
      `Request too large for ${limitText}, Requested ${formatCount(requested, unit)}. The request must be made smaller in order to run successfully.`,
      { overrides: { type } },
    );
  }
  return new GatewayError(
    "rate_limited",
    `Rate limit reached for ${limitText}, Used ${formatCount(used, unit)}, Requested ${formatCount(requested, unit)}. Please try again in ${duration(waitMs)}.`,
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

/** Such as `x-ratelimit-limit-requests`, `x-ratelimit-remaining-requests` and `x-ratelimit-reset-requests`. */
const headerNames = rateLimits.map(({ rate, name, unit }) => ({
  rate,
  unit,
  limit: `x-ratelimit-limit-${name}`,
  remaining: `x-ratelimit-remaining-${name}`,
  reset: `x-ratelimit-reset-${name}`,
}));

/**
 * Reports the scope with the least remaining items for each rate. Writes into the given object: this runs for every
 * response.
 */
export function writeRateLimitHeaders(
  scopes: readonly LimitScope[],
  now: number,
  headers: Record<string, string>,
): void {
  for (const { rate, unit, limit, remaining, reset } of headerNames) {
    let least = Infinity;
    let tightest: TokenBucket | undefined;
    for (const scope of scopes) {
      const bucket = scope.bucket(rate);
      const left = bucket?.remaining(now) ?? Infinity;
      if (left >= least) continue;
      least = left;
      tightest = bucket;
    }
    if (!tightest) continue;
    headers[limit] = String(tightest.limit / unit);
    headers[remaining] = String(least / unit);
    headers[reset] = duration(tightest.msUntilFull(now));
  }
}
