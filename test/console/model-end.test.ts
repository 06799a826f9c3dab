/** The warning of the playgrounds that a vendor will shut a model down. */
import { expect, test } from "bun:test";
import { endsSoon, isShutDown } from "../../console/src/features/models/preselected.ts";

const now = Date.parse("2026-11-19T12:00:00Z");

test("a user is warned in the 90 days before a model is shut down, and told afterwards", () => {
  const shown = (ends_on: string | null) => [
    endsSoon({ ends_on }, now),
    isShutDown({ ends_on }, now),
  ];
  expect(shown(null)).toEqual([undefined, false]);
  expect(shown("2027-03-01")).toEqual([undefined, false]);
  expect(shown("2027-02-01")).toEqual(["2027-02-01", false]);
  expect(shown("2026-11-01")).toEqual([undefined, true]);
});
