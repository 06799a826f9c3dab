/** The list of values in an error message has OpenAI's form. */
import { expect, test } from "bun:test";
import { quotedList } from "../../server/lib/quoted-list.ts";

test.each([
  [["low"], "'low'"],
  [["low", "auto"], "'low' and 'auto'"],
  [["low", "medium", "auto"], "'low', 'medium', and 'auto'"],
  [["low", "low", "auto"], "'low' and 'auto'"],
])("%j is listed as %s", (values, list) => {
  expect(quotedList(values)).toBe(list);
});
