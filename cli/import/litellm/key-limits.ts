/** Limits and budgets of rows of LiteLLM: keys, teams and users. */
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";
import { budgetOf, limitsOf } from "../limits.ts";
import type { SubjectReport } from "../report.ts";
import { matches } from "./key-models.ts";
import type { PlannedModels } from "./plan-models.ts";
import { listOf, objectOf } from "./source.ts";

export const limitsOfRow = (row: JsonObject, report: SubjectReport) =>
  limitsOf(
    {
      requestsPerMinute: ["rpm_limit", row.rpm_limit],
      tokensPerMinute: ["tpm_limit", row.tpm_limit],
      concurrent: ["max_parallel_requests", row.max_parallel_requests],
    },
    report,
  );

/** Of two limits of one kind, the lower one. */
export function strictest(
  { limits: own = {} }: { limits?: JsonObject },
  { limits: other = {} }: { limits?: JsonObject },
): { limits?: JsonObject } {
  const names = [...new Set([...Object.keys(own), ...Object.keys(other)])];
  if (names.length === 0) return {};
  const lower = (name: string): number =>
    Math.min(...[own[name], other[name]].filter((value) => typeof value === "number"));
  return { limits: Object.fromEntries(names.map((name) => [name, lower(name)])) };
}

/** A limit of 0, which refuses every request. Vexel's lowest limit is 1. */
export const zeroLimitOf = (row: JsonObject): string | undefined =>
  ["rpm_limit", "tpm_limit", "max_parallel_requests"].find(
    (name) => row[name] !== null && row[name] !== undefined && Number(row[name]) === 0,
  );

/** `budget_limits` has further budgets, each with a period of its own. `more`: budgets beside those of the row. */
export const budgetsOf = (
  row: JsonObject,
  unpriced: readonly string[],
  report: SubjectReport,
  more: Parameters<typeof budgetOf>[0] = [],
) =>
  budgetOf(
    [
      {
        field: "max_budget",
        max: row.max_budget,
        duration: row.budget_duration,
        spent: row.spend,
      },
      ...more,
      ...listIn(row.budget_limits).map((entry) => {
        const { max_budget: max, budget_duration: duration } = objectOf(entry);
        return { field: `budget_limits.${duration}`, max, duration };
      }),
    ],
    report,
    unpriced
      .map(
        (name) =>
          `Not enforced for model ${name}: its price is unknown; set price or unknownPrice: refuse`,
      )
      .join(". "),
  );

function listIn(value: unknown): readonly unknown[] {
  if (typeof value !== "string") return listOf(value);
  try {
    return listOf(JSON.parse(value));
  } catch {
    return [];
  }
}

/** Of the models that may be used, the names of those without a price. */
export const unpricedOf = (
  allowed: readonly string[],
  { unpriced }: PlannedModels,
): readonly string[] =>
  [...unpriced].filter((name) => allowed.some((pattern) => matches(pattern, name)));
