/** The search of a combobox. */
import { expect, test } from "bun:test";
import { searchOptions } from "../../console/src/lib/search-options.ts";

const options = ["text-embedding-3-small", "gpt-image-1", "small-text", "Voyage 3"].map(
  (label) => ({
    value: label.toLowerCase(),
    label,
  }),
);
const found = (text: string): string[] => searchOptions(options, text).map(({ label }) => label);

test("an option is found by words in any order and case, and without a text all are shown", () => {
  expect(found("SMALL embedding")).toEqual(["text-embedding-3-small"]);
  expect(found("  ")).toHaveLength(4);
  expect(found("nothing")).toEqual([]);
});

test("an option that begins with the text comes before others that contain it", () => {
  expect(found("small")).toEqual(["small-text", "text-embedding-3-small"]);
});

test("the hint of an option is searched", () => {
  const named = [{ value: "azure", label: "Azure OpenAI", hint: "cloud" }];
  expect(searchOptions(named, "cloud")).toEqual(named);
});
