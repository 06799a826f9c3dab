/**
 * A ledger row as a list of values, in a fixed order: compact lines in files, and the parameters of one SQL statement.
 */
import type { LedgerRow } from "./ports/ledger-row.ts";

/**
 * The type of each value in PostgreSQL, in the order of the values. New values go to the end: files of earlier versions
 * have shorter lists.
 */
export const rowTypes = {
  requestId: "text",
  at: "bigint",
  endpoint: "text",
  keyId: "text",
  model: "text",
  upstream: "text",
  targetModel: "text",
  attempts: "integer",
  status: "integer",
  error: "text",
  latencyMs: "double precision",
  inputTokens: "bigint",
  outputTokens: "bigint",
  images: "bigint",
  bytesIn: "bigint",
  bytesOut: "bigint",
  cachedInputs: "bigint",
  upstreamTokens: "bigint",
  cost: "double precision",
  steps: "text",
  project: "text",
  estimatedCost: "double precision",
  inputs: "bigint",
  timeline: "text",
  errorMessage: "text",
  replica: "text",
  endUser: "text",
  tags: "text",
  budgets: "text",
} as const satisfies Readonly<Record<keyof LedgerRow, string>>;

export const rowNames = Object.keys(rowTypes) as readonly (keyof LedgerRow)[];

const requiredNames: ReadonlySet<keyof LedgerRow> = new Set([
  "requestId",
  "at",
  "endpoint",
  "keyId",
  "attempts",
  "status",
  "latencyMs",
  "bytesIn",
  "bytesOut",
]);

/**
 * Whether every value of a row that was read from a file has its type. If one value had another type, the store would
 * refuse the whole batch at every retry, or add the value to a sum.
 */
export const isValidRow = (row: LedgerRow): boolean =>
  rowNames.every((name) => {
    if (row[name] === null) return !requiredNames.has(name);
    return typeof row[name] === (rowTypes[name] === "text" ? "string" : "number");
  });

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
    row.errorMessage,
    row.replica,
    row.endUser,
    row.tags,
    row.budgets,
  ] as const;

/** The inverse of `valuesOf`. Columns that were added later are null. */
export const fromValues = (values: readonly unknown[]): LedgerRow =>
  Object.fromEntries(
    rowNames.map((name, at) => [name, values[at] ?? null]),
  ) as unknown as LedgerRow;
