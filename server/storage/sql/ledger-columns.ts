/** The columns of the ledger and of its roll-ups, which are the same in SQLite and PostgreSQL. */
import { refusedKinds } from "../../../contract/errors.ts";
import { dayMs } from "../../lib/timers.ts";
import { rowNames } from "../ledger-row-values.ts";
import {
  type LabelKind,
  type LedgerDimension,
  labelKinds,
  latencyBoundsMs,
  ledgerDimensions,
  type UsageGroup,
} from "../ports/ledger-queries.ts";
import type { LedgerRow } from "../ports/ledger-row.ts";
import { nameIn } from "./labels.ts";

/** The column of a value: `request_id` for `requestId`. */
export const columnOf = (name: keyof LedgerRow): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The columns of the table `ledger`, in the order of the values of a row. */
export const ledgerColumns = rowNames.map(columnOf);

/** For SELECT: every column of `ledger` under the name of its value. */
export const listedColumns = rowNames.map((name) => `${columnOf(name)} AS "${name}"`).join(", ");

/** `isRefused` on the columns of a row. */
export const refusedCondition = `(attempts = 0 AND error IN ('${refusedKinds.join("', '")}'))`;

/** Usage is kept this much longer than rows: a year can be compared with the year before. */
export const usageExtraRetentionMs = 400 * dayMs;

/** The columns of the roll-ups that identify a group. A value that a request does not have is the empty text. */
export const groupColumns = ledgerDimensions.map(columnOf);

export const isLabelKind = (dimension: LedgerDimension | LabelKind): dimension is LabelKind =>
  labelKinds.some((kind) => kind === dimension);

/** The column of a roll-up that has the values of a dimension. */
export const groupColumnOf = (dimension: LedgerDimension | LabelKind): string =>
  isLabelKind(dimension) ? "label" : columnOf(dimension);

export const latencyColumns = [...latencyBoundsMs.keys(), latencyBoundsMs.length].map(
  (at) => `latency_${at}`,
);

export const sumColumns = [
  "requests",
  "errors",
  "unmetered",
  "unpriced",
  "input_tokens",
  "output_tokens",
  "images",
  "inputs",
  "cached_inputs",
  "cost",
  "estimated_cost",
  "latency_ms",
  "refused",
  ...latencyColumns,
] as const;

/** A row of sums as a group of a usage query. */
export function toGroup(
  row: Readonly<Record<string, number | string>>,
  from: number,
  groupBy: readonly (LedgerDimension | LabelKind)[],
): UsageGroup {
  const sum = (name: string): number => Number(row[name] ?? 0);
  const dimensions = groupBy.map((dimension) => {
    const value = row[groupColumnOf(dimension)] || null;
    return [dimension, isLabelKind(dimension) && value ? nameIn(String(value)) : value];
  });
  return {
    from,
    ...Object.fromEntries(dimensions),
    requests: sum("requests"),
    errors: sum("errors"),
    refused: sum("refused"),
    unmeteredRequests: sum("unmetered"),
    unpricedRequests: sum("unpriced"),
    inputTokens: sum("input_tokens"),
    outputTokens: sum("output_tokens"),
    images: sum("images"),
    inputs: sum("inputs"),
    cachedInputs: sum("cached_inputs"),
    cost: sum("cost"),
    estimatedCost: sum("estimated_cost"),
    latencyMs: sum("latency_ms"),
    latencyHistogram: latencyColumns.map(sum),
  };
}
