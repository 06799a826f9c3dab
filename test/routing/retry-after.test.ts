/** The formats in which upstreams say when to retry. */
import { expect, test } from "bun:test";
import { rateLimitResetMs } from "../../server/upstream/adapters/wire/rate-limit-reset.ts";

test.each<[string, Record<string, string>, number | undefined]>([
  ["as a Go duration", { "x-ratelimit-reset-requests": "1.5s" }, 1500],
  ["with several units", { "x-ratelimit-reset-tokens": "0h0m9.25s" }, 9250],
  ["in milliseconds", { "x-ratelimit-reset-requests": "12ms" }, 12],
  ["in plain seconds", { "x-ratelimit-reset-tokens": "17" }, 17_000],
  ["from a header without a kind", { "x-ratelimit-reset": "3" }, 3000],
  [
    "the longest of the exhausted limits",
    {
      "x-ratelimit-remaining-requests": "0",
      "x-ratelimit-reset-requests": "2s",
      "x-ratelimit-remaining-tokens": "0",
      "x-ratelimit-reset-tokens": "5s",
    },
    5000,
  ],
  [
    "ignoring a limit that is not exhausted",
    {
      "x-ratelimit-remaining-requests": "0",
      "x-ratelimit-reset-requests": "2s",
      "x-ratelimit-remaining-tokens": "900",
      "x-ratelimit-reset-tokens": "50s",
    },
    2000,
  ],
  ["capped at one minute", { "x-ratelimit-reset-requests": "6m0s" }, 60_000],
  ["not from a timestamp", { "x-ratelimit-reset": "1741305600000" }, undefined],
  ["not from words", { "x-ratelimit-reset-requests": "soon" }, undefined],
  ["not without headers", {}, undefined],
  ["not from zero", { "x-ratelimit-reset-tokens": "0" }, undefined],
])("the reset time of an exhausted rate limit is read: %s", (_, headers, expected) => {
  expect(rateLimitResetMs(new Headers(headers))).toBe(expected);
});
