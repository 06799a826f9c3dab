/**
 * Budget periods in UTC: days and months by name, such as 2026-11-15 and 2026-11, and the total. A budget is reset when
 * its budget period ends.
 */

export const periods = ["day", "month", "total"] as const;
export type Period = (typeof periods)[number];

const dayMs = 86_400_000;
let cached: { readonly day: number; readonly names: Readonly<Record<Period, string>> } | undefined;

/** `at`: Unix milliseconds. */
export function periodNames(at: number): Readonly<Record<Period, string>> {
  const day = Math.floor(at / dayMs);
  // Cached: all requests of a day get the same names.
  if (cached?.day !== day) {
    const name = new Date(day * dayMs).toISOString().slice(0, -14);
    cached = { day, names: { day: name, month: name.slice(0, -3), total: "total" } };
  }
  return cached.names;
}

/** The end of the period that `at` is in. Undefined for the total, which does not end. */
export function endOfPeriod(period: Period, at: number): number | undefined {
  if (period === "total") return undefined;
  if (period === "day") return (Math.floor(at / dayMs) + 1) * dayMs;
  const date = new Date(at);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
}
