/** The columns of a CSV of API keys, which `vexel export` writes and `vexel import csv` reads. */

import { type Limits, type RateName, rateLimits } from "../../../contract/limits-and-budgets.ts";

type LimitColumn = `${RateName}_per_minute` | "concurrent";

/** The limit in each of these columns. */
export const limitColumns: Readonly<Record<LimitColumn, keyof Limits>> = {
  ...(Object.fromEntries(
    rateLimits.map(({ name }) => [`${name}_per_minute`, `${name}PerMinute`]),
  ) as Record<`${RateName}_per_minute`, keyof Limits>),
  concurrent: "concurrent",
};

export const budgetColumns = {
  budget_day: "day",
  budget_month: "month",
  budget_total: "total",
} as const;

export const csvColumns = [
  "name",
  "key",
  "project",
  "models",
  ...(Object.keys(limitColumns) as LimitColumn[]),
  ...(Object.keys(budgetColumns) as (keyof typeof budgetColumns)[]),
  "unknown_price",
  "expires",
  "default_embedding",
  "default_image",
  "parameters",
  "priority",
  "show_cost",
  "hint",
] as const;

export type CsvColumn = (typeof csvColumns)[number];

export const isCsvColumn = (name: string): name is CsvColumn =>
  (csvColumns as readonly string[]).includes(name);
