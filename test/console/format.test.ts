/** Numbers of the console. */
import { afterEach, expect, test } from "bun:test";
import { count, setNumberLocale } from "../../console/src/lib/format.ts";

afterEach(() => setNumberLocale("en-US"));

test("large numbers have the units of the language", () => {
  expect([950, 14_100, 5_840_000, 120_000_000].map(count)).toEqual([
    "950",
    "14.1K",
    "5.8M",
    "120M",
  ]);
  setNumberLocale("zh-CN");
  expect([950, 14_100, 5_840_000, 120_000_000].map(count)).toEqual([
    "950",
    "1.4万",
    "584万",
    "1.2亿",
  ]);
});
