/** The columns of a CSV of API keys, which `vexel export` writes and `vexel import csv` reads. */

export const limitColumns = {
  requests_per_minute: "requestsPerMinute",
  tokens_per_minute: "tokensPerMinute",
  images_per_minute: "imagesPerMinute",
  megapixels_per_minute: "megapixelsPerMinute",
  concurrent: "concurrent",
} as const;

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
  ...(Object.keys(limitColumns) as (keyof typeof limitColumns)[]),
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
