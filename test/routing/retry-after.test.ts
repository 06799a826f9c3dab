/** The formats in which upstreams say when to retry. */
import { expect, test } from "bun:test";
import { rateLimitResetMs } from "../../server/upstream/adapters/wire/rate-limit-reset.ts";

test.each<[string, Record<string, string>, number | undefined]>([
  ["in Go's durations", { "x-ratelimit-reset-requests": "1.5s" }, 1500],
  ["of several units", { "x-ratelimit-reset-tokens": "0h0m9.25s" }, 9250],
  ["in milliseconds", { "x-ratelimit-reset-requests": "12ms" }, 12],
  ["in plain seconds", { "x-ratelimit-reset-tokens": "17" }, 17_000],
  ["without a kind", { "x-ratelimit-reset": "3" }, 3000],
  [
    "the longest of those that are used up",
    {
      "x-ratelimit-remaining-requests": "0",
      "x-ratelimit-reset-requests": "2s",
      "x-ratelimit-remaining-tokens": "0",
      "x-ratelimit-reset-tokens": "5s",
    },
    5000,
  ],
  [
    "but not of one that has room",
    {
      "x-ratelimit-remaining-requests": "0",
      "x-ratelimit-reset-requests": "2s",
      "x-ratelimit-remaining-tokens": "900",
      "x-ratelimit-reset-tokens": "50s",
    },
    2000,
  ],
  ["for a minute at most", { "x-ratelimit-reset-requests": "6m0s" }, 60_000],
  [
    "as moments, which say nothing without a clock",
    { "x-ratelimit-reset": "1741305600000" },
    undefined,
  ],
  ["in words", { "x-ratelimit-reset-requests": "soon" }, undefined],
  ["not at all", {}, undefined],
  ["as nothing", { "x-ratelimit-reset-tokens": "0" }, undefined],
])("a limit that is used up says when it has room again: %s", (_, headers, expected) => {
  expect(rateLimitResetMs(new Headers(headers))).toBe(expected);
});
