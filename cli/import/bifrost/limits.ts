/** Budgets and rate limits of Bifrost. An approximation is never looser than the original. */
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";
import { budgetOf, limitsOf, type PlannedBudget } from "../limits.ts";
import type { FoundLoss } from "../losses.ts";
import type { SubjectReport } from "../report.ts";
import { type BifrostSource, objectIn, objectsIn } from "./source.ts";

type Row = JsonObject;

/** The budgets of a row: in it, or named by it. */
export const budgetRows = (
  row: Row,
  { budgets }: Pick<BifrostSource, "budgets">,
): readonly Row[] => {
  const ids = [row.budget_id, ...(Array.isArray(row.budget_ids) ? row.budget_ids : [])];
  const named = budgets.filter(({ id }) => ids.includes(id));
  const own = [...objectsIn(row.budgets), objectIn(row.budget)];
  return [...own, ...named].filter(({ max_limit }) => max_limit !== undefined);
};

export const rateLimitRow = (
  row: Row,
  { rateLimits }: Pick<BifrostSource, "rateLimits">,
): Row | undefined => {
  const own = objectIn(row.rate_limit);
  return "id" in own || "request_max_limit" in own
    ? own
    : rateLimits.find(({ id }) => id === row.rate_limit_id && id !== undefined && id !== null);
};

export const isLimited = (row: Row, source: BifrostSource): boolean =>
  budgetRows(row, source).length > 0 || rateLimitRow(row, source) !== undefined;

/** Bifrost has M, Q and Y for months, quarters and years. */
const durationOf = (value: unknown): string =>
  String(value ?? "")
    .replace(/^(\d+)M$/, "$1mo")
    .replace(/^(\d+)Q$/, (_, count: string) => `${Number(count) * 90}d`)
    .replace(/^(\d+)Y$/, (_, count: string) => `${Number(count) * 365}d`);

export const budgetsOf = (row: Row, source: BifrostSource, report: SubjectReport): PlannedBudget =>
  budgetOf(
    budgetRows(row, source).map(({ max_limit, reset_duration, current_usage }) => ({
      field: `budget.${reset_duration}`,
      max: max_limit,
      duration: durationOf(reset_duration),
      spent: current_usage,
    })),
    report,
  );

const seconds: Readonly<Record<string, number>> = {
  s: 1,
  m: 60,
  h: 3600,
  d: 86_400,
  w: 604_800,
  M: 2_592_000,
  Y: 31_536_000,
};

/** The limit for a minute that admits no more in any period. Undefined if less than one. */
function perMinute(max: unknown, duration: unknown): number | undefined {
  const [, count, unit = ""] = /^(\d+)([smhdwMY])$/.exec(String(duration ?? "")) ?? [];
  const period = Number(count) * (seconds[unit] ?? Number.NaN);
  const value = Math.floor(period <= 60 ? Number(max) : (Number(max) * 60) / period);
  return value >= 1 ? value : undefined;
}

interface PlannedLimits {
  readonly limits?: JsonObject;
  /** A limit of less than one in a minute, which Vexel does not have. */
  readonly losses: readonly FoundLoss[];
}

export function rateLimitsOf(
  row: Row,
  source: BifrostSource,
  report: SubjectReport,
): PlannedLimits {
  const limit = rateLimitRow(row, source);
  if (!limit) return { losses: [] };
  const given = (["request", "token"] as const).map((what) => {
    const [max, duration] = [limit[`${what}_max_limit`], limit[`${what}_reset_duration`]];
    const isSet = max !== null && max !== undefined;
    const value = isSet ? perMinute(max, duration) : undefined;
    if (value !== undefined && duration !== "1m")
      report.approximated(
        `rate_limit.${what}`,
        `${max} in ${duration} become ${value} in a minute, the stricter one`,
      );
    return { what, max, duration, isSet, value };
  });
  const [requests, tokens] = given;
  return {
    ...limitsOf(
      {
        requestsPerMinute: ["rate_limit.request_max_limit", requests?.value],
        tokensPerMinute: ["rate_limit.token_max_limit", tokens?.value],
      },
      report,
    ),
    losses: given
      .filter(({ isSet, value }) => isSet && value === undefined)
      .map(({ what, max, duration }) => ({
        loss: "rate-limits",
        field: `rate_limit.${what}`,
        note: `${max} in ${duration} is less than one in a minute`,
      })),
  };
}
