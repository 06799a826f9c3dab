/** Errors and events in words, in both languages. */
import { expect, test } from "bun:test";
import { eventName } from "../../console/src/features/events/event-names.ts";
import { errorName } from "../../console/src/features/requests/error-names.ts";
import { errorTable } from "../../contract/errors.ts";
import { eventTypes } from "../../contract/events.ts";

/** Of the admin API only: no request of the ledger has them. */
const isOfAdmin = (kind: string): boolean =>
  /^(?:entity_|version_conflict|invalid_c|second_factor|password_change)/.test(kind);

test("every error of a request has words in both languages, and no two have the same", () => {
  const kinds = Object.keys(errorTable).filter((kind) => !isOfAdmin(kind));
  for (const language of ["en", "zh"] as const) {
    const names = kinds.map((kind) => errorName(kind, language));
    expect(names.filter((name) => name.includes("_"))).toEqual([]);
    expect(new Set(names).size).toBe(kinds.length);
  }
  const inChinese = kinds.map((kind) => errorName(kind, "zh"));
  expect(inChinese.filter((name) => !/\p{Script=Han}/u.test(name))).toEqual([]);
});

test("an error or an event of a newer gateway is shown as it is spelled", () => {
  expect(errorName("toString", "en")).toBe("toString");
  expect(eventName("target.renamed", "zh")).toBe("target.renamed");
});

test("every event type has words in both languages", () => {
  for (const type of Object.keys(eventTypes)) {
    expect(eventName(type, "en")).not.toContain(".");
    expect(eventName(type, "zh")).toMatch(/\p{Script=Han}/u);
  }
});
