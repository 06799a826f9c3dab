/**
 * A ledger row as a list of values, in a fixed order: compact lines in files, and the parameters of one SQL statement.
 */
import type { LedgerRow } from "./ports/ledger-row.ts";

/** The order of the values. New values go to the end: files of earlier versions have shorter lists. */
export const rowNames = [
  "requestId",
  "at",
  "endpoint",
  "keyId",
  "model",
  "upstream",
  "targetModel",
  "attempts",
  "status",
  "error",
  "latencyMs",
  "inputTokens",
  "outputTokens",
  "images",
  "bytesIn",
  "bytesOut",
  "cachedInputs",
  "upstreamTokens",
  "cost",
  "steps",
  "project",
  "estimatedCost",
  "inputs",
  "timeline",
] as const satisfies readonly (keyof LedgerRow)[];

/** Without a loop, because this runs for every request. */
export const valuesOf = (row: LedgerRow) =>
  [
    row.requestId,
    row.at,
    row.endpoint,
    row.keyId,
    row.model,
    row.upstream,
    row.targetModel,
    row.attempts,
    row.status,
    row.error,
    row.latencyMs,
    row.inputTokens,
    row.outputTokens,
    row.images,
    row.bytesIn,
    row.bytesOut,
    row.cachedInputs,
    row.upstreamTokens,
    row.cost,
    row.steps,
    row.project,
    row.estimatedCost,
    row.inputs,
    row.timeline,
  ] as const;

/** The inverse of `valuesOf`. Columns that were added later are null. */
export const fromValues = (values: readonly unknown[]): LedgerRow =>
  Object.fromEntries(
    rowNames.map((name, at) => [name, values[at] ?? null]),
  ) as unknown as LedgerRow;
