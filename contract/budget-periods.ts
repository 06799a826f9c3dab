/**
 * Budget periods in UTC: days and months by name, such as 2026-11-15 and 2026-11, and the total. A budget is reset when
 * its budget period ends.
 */

export const periods = ["day", "month", "total"] as const;
export type Period = (typeof periods)[number];

const dayMs = 86_400_000;

type PeriodNames = Readonly<Record<Period, string>>;

/** The last result: this runs several times for every request, and most requests are of one day. */
let latest: { readonly day: number; readonly names: PeriodNames } | undefined;

/** `at`: Unix milliseconds. */
export function periodNames(at: number): PeriodNames {
  const day = Math.floor(at / dayMs);
  if (latest?.day !== day) latest = { day, names: namesOfDay(at) };
  return latest.names;
}

function namesOfDay(at: number): PeriodNames {
  const day = new Date(at).toISOString().slice(0, -14);
  return { day, month: day.slice(0, -3), total: "total" };
}

/** The end of the period that `at` is in. Undefined for the total, which does not end. */
export function endOfPeriod(period: Period, at: number): number | undefined {
  if (period === "total") return undefined;
  if (period === "day") return (Math.floor(at / dayMs) + 1) * dayMs;
  const date = new Date(at);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
}
