/** The periods of a time range, in the time zone of the browser or in UTC. A chart shows those without requests too. */
import type { UsageInterval } from "../../../contract/admin.ts";

/** The default is that of the browser. */
export type Zone = "UTC" | undefined;

const hourMs = 3_600_000;

/** The start of the day or month, or of the hour (UTC), that a time is in. `before`: of an earlier period. */
export function periodStart(at: number, interval: UsageInterval, zone: Zone, before = 0): number {
  if (interval === "hour" || interval === "total")
    return Math.floor(at / hourMs) * hourMs - before * hourMs;
  const date = new Date(at);
  const isMonth = interval === "month";
  if (zone === "UTC") {
    const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
    return isMonth
      ? Date.UTC(year, month - before, 1)
      : Date.UTC(year, month, date.getUTCDate() - before);
  }
  const [year, month] = [date.getFullYear(), date.getMonth()];
  return (
    isMonth ? new Date(year, month - before, 1) : new Date(year, month, date.getDate() - before)
  ).getTime();
}

/** The starts of all periods, in order. The first one may begin before `from`. Unix milliseconds. */
export function periodsOf(
  interval: UsageInterval,
  from: number,
  to: number,
  zone: Zone,
): readonly number[] {
  const starts: number[] = [];
  for (let start = periodStart(from, interval, zone); start < to; ) {
    starts.push(start);
    start = periodStart(start, interval, zone, -1);
  }
  return starts;
}

/** The index of the period that a time is in. */
export function periodAt(periods: readonly number[], at: number): number {
  const after = periods.findIndex((start) => start > at);
  return (after === -1 ? periods.length : after) - 1;
}
