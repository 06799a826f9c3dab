/** Time ranges that end now. */
export const ranges = ["day", "week", "month", "quarter"] as const;
export type Range = (typeof ranges)[number];

export const days: Readonly<Record<Range, number>> = { day: 1, week: 7, month: 30, quarter: 90 };
const minuteMs = 60_000;

/** The start, in whole minutes, so that a page that is drawn again sends the same query. */
export const startOf = (range: Range, now = Date.now()): string =>
  new Date(Math.floor(now / minuteMs) * minuteMs - lengthOf(range)).toISOString();

export const endOf = (start: string, range: Range): string =>
  new Date(Date.parse(start) + lengthOf(range)).toISOString();

/** Milliseconds. */
export const lengthOf = (range: Range): number => days[range] * 24 * 60 * minuteMs;
