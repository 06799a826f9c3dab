/** Durations in rate limit messages: in Go's format, which OpenAI's clients parse. */
import { expect, test } from "bun:test";
import { duration } from "../../server/limits/rate-limit-headers.ts";

test.each([
  [0, "0s"],
  [12, "12ms"],
  [999, "999ms"],
  [1000, "1s"],
  [2812, "2.812s"],
  [59_999, "59.999s"],
  [60_000, "1m0s"],
  [90_500, "1m30.5s"],
  [360_000, "6m0s"],
  [3_600_000, "1h0m0s"],
  [5_025_040, "1h23m45.04s"],
])("%i milliseconds are formatted as %s", (ms, text) => {
  expect(duration(ms)).toBe(text);
});
