/** The messages of invalid settings. */
import { expect, test } from "bun:test";
import { readSettings } from "../../server/settings.ts";

test("a setting that is a number but not a whole one is refused with the words whole number", () => {
  expect(() => readSettings({ PORT: "1.5" })).toThrow('PORT="1.5": must be a whole number.');
  expect(() => readSettings({ PORT: "abc" })).toThrow('PORT="abc": must be a number.');
});
