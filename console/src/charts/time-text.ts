/** The times of charts as text, in the time zone that the user chose. */
import type { UsageInterval } from "../../../contract/admin.ts";
import type { Language } from "../i18n/messages.ts";
import { localeOf } from "../lib/time.ts";

export interface TimeText {
  /** For an axis: the time of day in a chart of up to two days, else the date. */
  axis(seconds: number): string;
  /** The whole period that begins at this time. */
  period(seconds: number): string;
}

interface TimeTextOptions {
  readonly language: Language;
  /** The default is that of the browser. */
  readonly timeZone?: string | undefined;
  readonly interval: UsageInterval;
  /** Unix seconds, ascending. */
  readonly times: readonly number[];
}

const daySeconds = 86_400;
const hourSeconds = 3600;

export function timeText(options: TimeTextOptions): TimeText {
  const { language, timeZone, interval, times } = options;
  const format = (parts: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(localeOf(language), { ...parts, ...(timeZone && { timeZone }) });
  const isShort = (times.at(-1) ?? 0) - (times[0] ?? 0) <= 2 * daySeconds;
  const hour = format({ hour: "2-digit", minute: "2-digit" });
  const day = format({ month: "short", day: "numeric" });
  const longDay = format({ weekday: "short", year: "numeric", month: "short", day: "numeric" });
  const month = format({ year: "numeric", month: "long" });
  const longAxis = interval === "month" ? format({ year: "numeric", month: "short" }) : day;
  const axis = isShort && interval === "hour" ? hour : longAxis;
  return {
    axis: (seconds) => axis.format(seconds * 1000),
    period: (seconds) => {
      if (interval === "month") return month.format(seconds * 1000);
      if (interval !== "hour") return longDay.format(seconds * 1000);
      const end = hour.format((seconds + hourSeconds) * 1000);
      return `${day.format(seconds * 1000)}, ${hour.format(seconds * 1000)}–${end}`;
    },
  };
}
