/**
 * Usage as CSV. Cells that a spreadsheet would run as a formula begin with an apostrophe, which prevents CSV injection.
 */
import type { UsageDimension, UsageRow } from "../../../contract/admin.ts";

const sumColumns = [
  "requests",
  "errors",
  "refused",
  "input_tokens",
  "output_tokens",
  "images",
  "inputs",
  "cached_inputs",
  "cost",
  "requests_without_cost",
  "estimated_cost",
  "charged",
  "latency_p50_ms",
  "latency_p95_ms",
  "latency_p99_ms",
] as const satisfies readonly (keyof UsageRow)[];

/** Spreadsheets run a cell as a formula if it begins with one of these characters, also after spaces or quotes. */
const formulaStart = /^[\s"']*[=+\-@\t\r]/;

export const csvCell = (value: string | number | null): string => {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  const safe = formulaStart.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) || safe !== value ? `"${safe.replaceAll('"', '""')}"` : safe;
};

export const csvHead = (dimensions: readonly UsageDimension[]): string =>
  csvLine([
    "start",
    ...dimensions.flatMap((name) => (name === "key" ? ["key", "key_name"] : [name])),
    ...sumColumns,
  ]);

export const csvRow = (row: UsageRow, dimensions: readonly UsageDimension[]): string =>
  csvLine([
    row.start,
    ...dimensions.flatMap((name) => {
      const value = row.group[name] ?? null;
      return name === "key" ? [value, row.key_name] : [value];
    }),
    ...sumColumns.map((name) => row[name]),
  ]);

export const csvLine = (values: readonly (string | number | null)[]): string =>
  `${values.map(csvCell).join(",")}\r\n`;
