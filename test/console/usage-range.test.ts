/** The time of the usage page: its periods, the time before it, and what the address says. */
import { expect, test } from "bun:test";
import { periodAt, periodsOf } from "../../console/src/charts/periods.ts";
import { changeOf } from "../../console/src/features/usage/change.ts";
import { requestsOf } from "../../console/src/features/usage/drill-down.ts";
import { usageRange } from "../../console/src/features/usage/usage-range.ts";
import { readUsageSearch } from "../../console/src/features/usage/usage-search.ts";

const now = Date.UTC(2026, 10, 18, 14, 25, 30);
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

test("24 hours are 24 whole hours, of which the last has begun", () => {
  const { from, to, interval, isOpen } = usageRange({ range: "day" }, "UTC", now);
  expect({ from, to, interval, isOpen }).toEqual({
    from: "2026-11-17T15:00:00.000Z",
    to: "2026-11-18T14:26:00.000Z",
    interval: "hour",
    isOpen: true,
  });
  expect(periodsOf("hour", Date.parse(from), Date.parse(to), "UTC")).toHaveLength(24);
});

test("30 days are whole days, and the time before them is as long and ends where they begin", () => {
  const { from, to, interval, previous } = usageRange({ range: "month" }, "UTC", now);
  expect([from, interval]).toEqual(["2026-10-20T00:00:00.000Z", "day"]);
  expect(periodsOf(interval, Date.parse(from), Date.parse(to), "UTC")).toHaveLength(30);
  expect(previous.to).toBe(from);
  expect(Date.parse(from) - Date.parse(previous.from)).toBe(Date.parse(to) - Date.parse(from));
});

test("a range of the user's own is as given, in hours, days or months by its length", () => {
  const intervals = [2, 30, 400].map((days) => {
    const from = new Date(now - days * dayMs).toISOString();
    const range = usageRange({ from, to: new Date(now).toISOString() }, "UTC", now + dayMs);
    expect([range.from, range.isOpen]).toEqual([from, false]);
    return range.interval;
  });
  expect(intervals).toEqual(["hour", "day", "month"]);
});

test("a time is in the period that began last", () => {
  const periods = periodsOf("month", Date.UTC(2026, 0, 15), Date.UTC(2026, 4, 1), "UTC");
  expect(periods.map((start) => new Date(start).getUTCMonth())).toEqual([0, 1, 2, 3]);
  expect([0, 1, 3].map((month) => periodAt(periods, Date.UTC(2026, month, 20)))).toEqual([0, 1, 3]);
});

test("an address with dimensions or filters that cannot be combined is read without them", () => {
  expect(readUsageSearch({ group: "status", split: "model", tag: "a", range: "day" })).toEqual({
    group: "status",
    range: "day",
  });
  expect(readUsageSearch({ tag: "a", end_user: "b", from: "x", zone: "utc" })).toEqual({
    tag: "a",
    zone: "utc",
  });
  expect(readUsageSearch({ group: "key", split: "model", model: "7" })).toEqual({
    group: "key",
    split: "model",
    model: "7",
  });
});

test("the requests of a group have the filters of the page, the time, and the group", () => {
  const time = { from: "2026-11-01T00:00:00.000Z", to: "2026-11-02T00:00:00.000Z" };
  expect(requestsOf({ project: "p", internal: "true" }, time, { upstream: "openai" })).toEqual({
    ...time,
    project: "p",
    internal: "true",
    target: "openai",
  });
  expect(requestsOf({}, time, { status: "429" })).toEqual({ ...time, status: "429" });
  // All others, and requests without a project, are no single value.
  for (const value of ["(other)", null])
    expect(requestsOf({ model: "m" }, time, { project: value })).toEqual({ ...time, model: "m" });
});

test("a change is a percentage, a factor if it is large, and nothing without a time before", () => {
  expect(changeOf(110, 100)).toEqual({ text: "10%", isUp: true, isSame: false });
  expect(changeOf(95, 100)).toEqual({ text: "5.0%", isUp: false, isSame: false });
  expect(changeOf(1200, 100)?.text).toBe("12.0×");
  expect(changeOf(100, 100)?.isSame).toBe(true);
  for (const before of [0, null]) expect(changeOf(5, before)).toBeUndefined();
});
