/** The time range of the usage page, its periods, and the time of the same length before it. */
import type { UsageInterval } from "../../../../contract/admin.ts";
import { periodStart, type Zone } from "../../charts/periods.ts";
import { days, type Range } from "../../lib/range.ts";
import type { UsageSearch } from "./usage-search.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** With the groups of a chart, few enough rows for one response. */
const [maxHourly, maxDaily] = [7 * dayMs, 200 * dayMs];

export interface UsageRange {
  /** ISO 8601. */
  readonly from: string;
  readonly to: string;
  readonly interval: Exclude<UsageInterval, "total">;
  readonly previous: { readonly from: string; readonly to: string };
  /** It ends now, and so it changes. */
  readonly isOpen: boolean;
}

export const defaultRange: Range = "week";

/** `now` is rounded up to a whole minute, so that a page that is drawn again sends the same query. */
export function usageRange(
  { range, from, to }: Pick<UsageSearch, "range" | "from" | "to">,
  zone: Zone,
  now: number,
): UsageRange {
  if (range === undefined && from !== undefined && to !== undefined) {
    return rangeOf(Date.parse(from), Date.parse(to), Date.parse(to) > now);
  }
  const end = Math.ceil(now / 60_000) * 60_000;
  const count = days[range ?? defaultRange];
  const isHourly = count * dayMs <= maxHourly;
  const start = isHourly
    ? periodStart(end - 1, "hour", zone, count * 24 - 1)
    : periodStart(end - 1, "day", zone, count - 1);
  return rangeOf(start, end, true);
}

function rangeOf(from: number, to: number, isOpen: boolean): UsageRange {
  const length = to - from;
  const longer = length <= maxDaily ? "day" : "month";
  const iso = (at: number): string => new Date(at).toISOString();
  return {
    from: iso(from),
    to: iso(to),
    interval: length <= maxHourly ? "hour" : longer,
    // Whole hours, as usage is stored: the hour at the border is not counted twice.
    previous: { from: iso(from - length), to: iso(Math.floor(from / hourMs) * hourMs) },
    isOpen,
  };
}
