/** Numbers as people read them. Unknown is a dash, never 0. */
import { formatDollars } from "../../../contract/format-dollars.ts";

const unknown = "–";
const compactIn = (locale: string): Intl.NumberFormat =>
  new Intl.NumberFormat(locale, { notation: "compact", maximumFractionDigits: 1 });
let compact = compactIn("en-US");

/** Chinese has units of its own: 万 for ten thousand, and 亿 for a hundred million. */
export function setNumberLocale(locale: string): void {
  compact = compactIn(locale);
}

export const count = (value: number | null): string =>
  value === null ? unknown : compact.format(value);

export const dollars = (value: number | null): string =>
  value === null ? unknown : formatDollars(value);

/** Of an amount that people have chosen, such as `$25` and `$0.50`. */
export const shortDollars = (value: number): string => formatDollars(value).replace(/\.00$/, "");

export const percent = (share: number | null): string =>
  share === null ? unknown : `${(share * 100).toFixed(1)}%`;

export const milliseconds = (ms: number | null): string => {
  if (ms === null) return unknown;
  return ms < 1000
    ? `${ms < 10 && ms > 0 ? ms.toFixed(1) : Math.round(ms)} ms`
    : `${(ms / 1000).toFixed(1)} s`;
};

/** A long time, such as the rest of a job. */
export function duration(ms: number | null): string {
  if (ms === null) return unknown;
  const minutes = Math.floor(ms / 60_000);
  if (minutes === 0) return `${Math.ceil(ms / 1000)} s`;
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const units = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"] as const;

export function bytes(value: number): string {
  const power = Math.min(units.length - 1, value < 1000 ? 0 : Math.floor(Math.log10(value) / 3));
  return new Intl.NumberFormat("en-US", {
    style: "unit",
    unit: units[power] ?? "byte",
    maximumFractionDigits: 1,
  }).format(value / 1000 ** power);
}
