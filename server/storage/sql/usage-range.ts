/** Which hours and roll-ups a usage query reads: the same in SQLite and PostgreSQL. */
import { dayMs, hourMs } from "../../lib/timers.ts";
import type { UsageQuery } from "../ports/ledger-queries.ts";

/** Unix milliseconds. */
export interface TimeRange {
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
}

/** The hours of the query in which there may be usage. `first` and `last`: times of the first and the last usage. */
export function usageRange({ from, to }: UsageQuery, first: number, last: number): TimeRange {
  const end = Math.ceil(to / hourMs) * hourMs;
  return {
    from: Math.max(from - (from % hourMs), first - (first % dayMs)),
    // Today is a whole day if the query has all the usage of today.
    to: end > last ? Math.ceil((last + 1) / dayMs) * dayMs : end,
  };
}

/** Whether the roll-up by day cannot be used: days of a time zone begin at other hours. */
export const readsHours = ({ interval, timeZone }: UsageQuery): boolean =>
  interval === "hour" || (interval !== "total" && timeZone !== undefined);
