/** When an exhausted rate limit resets, for upstreams that report it without `retry-after`. */
import { rateLimits, rateWindowMs } from "../../../../contract/limits-and-budgets.ts";
import type { UpstreamResponse } from "../../adapter.ts";

/**
 * OpenAI's headers, which many vendors copy: `x-ratelimit-remaining-requests: 0` and `x-ratelimit-reset-requests:
 * 6m0s`, the same for tokens and images; Azure writes whole seconds (openai/openai-dotnet#838). A Vexel gateway sends
 * the headers for megapixels as well.
 */
const limits = [...rateLimits.map(({ name }) => `-${name}`), ""];

/**
 * The longest wait. A reset is the time until the limit is fully restored, and a part of the limit is restored sooner
 * (community.openai.com/t/1268905).
 */
const longestMs = rateWindowMs;

export function rateLimitResetMs(headers: UpstreamResponse["headers"]): number | undefined {
  const waits = limits.flatMap((limit) => {
    const remaining = headers.get(`x-ratelimit-remaining${limit}`);
    if (remaining !== null && Number(remaining) > 0) return [];
    return durationMs(headers.get(`x-ratelimit-reset${limit}`) ?? "") ?? [];
  });
  const longest = Math.max(0, ...waits);
  return longest === 0 ? undefined : Math.min(longest, longestMs);
}

/** For a successful response: how long the limit stays exhausted. Undefined if it is not exhausted or not reported. */
export function rateLimitExhaustedMs(headers: UpstreamResponse["headers"]): number | undefined {
  let longest = 0;
  // Runs for every response of `fetch`, so it allocates nothing unless needed.
  for (const limit of limits) {
    if (!isUsedUp(headers.get(`x-ratelimit-remaining${limit}`))) continue;
    longest = Math.max(longest, durationMs(headers.get(`x-ratelimit-reset${limit}`) ?? "") ?? 0);
  }
  return longest === 0 ? undefined : Math.min(longest, longestMs);
}

/** Some vendors report negative numbers. */
const isUsedUp = (remaining: string | null): boolean =>
  remaining !== null && /^\s*-?\d+(\.\d+)?\s*$/.test(remaining) && Number(remaining) <= 0;

const units = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const;

/** Go's duration format, such as 1h2m3.5s and 12ms, or seconds. Timestamps, which some vendors send, are ignored. */
function durationMs(text: string): number | undefined {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) < 86_400 ? Number(text) * 1000 : undefined;
  if (!/^(\d+(\.\d+)?(h|ms|m|s))+$/.test(text)) return undefined;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|s)/g)];
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * units[unit as "s"], 0);
}
