/** Days and months in UTC by their names, such as 2026-11-15 and 2026-11; and all of time. */

export const periods = ["day", "month", "total"] as const;
export type Period = (typeof periods)[number];

const dayMs = 86_400_000;
let known: { readonly day: number; readonly names: Readonly<Record<Period, string>> } | undefined;

/** `at`: Unix milliseconds. */
export function periodNames(at: number): Readonly<Record<Period, string>> {
  const day = Math.floor(at / dayMs);
  // A day has many calls, and they all get the same answer.
  if (known?.day !== day) {
    const name = new Date(day * dayMs).toISOString().slice(0, -14);
    known = { day, names: { day: name, month: name.slice(0, -3), total: "total" } };
  }
  return known.names;
}

/** When the one that `at` is in is over. Undefined of all of time. */
export function endOfPeriod(period: Period, at: number): number | undefined {
  if (period === "total") return undefined;
  if (period === "day") return (Math.floor(at / dayMs) + 1) * dayMs;
  const date = new Date(at);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
}
