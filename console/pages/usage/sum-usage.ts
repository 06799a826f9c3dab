/** Sums of usage rows: by time for the charts, by group for the table. */
import type { UsageDimension, UsageRow } from "../../../contract/admin.ts";

export interface UsageSum {
  readonly start: string;
  readonly name: string | null;
  readonly requests: number;
  readonly errors: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly images: number;
  readonly cost: number;
  /** Percentiles cannot be added: the largest of the rows is an upper bound. */
  readonly latency_p95_ms: number | null;
}

export const sumByTime = (rows: readonly UsageRow[]): UsageSum[] =>
  sumBy(rows, ({ start }) => start).sort((a, b) => a.start.localeCompare(b.start));

export const sumByGroup = (rows: readonly UsageRow[], dimension: UsageDimension): UsageSum[] =>
  sumBy(rows, ({ group }) => group[dimension] ?? null).sort((a, b) => b.requests - a.requests);

function sumBy(rows: readonly UsageRow[], nameOf: (row: UsageRow) => string | null): UsageSum[] {
  const sums = new Map<string | null, UsageSum>();
  for (const row of rows) {
    const name = nameOf(row);
    const sum = sums.get(name);
    sums.set(name, sum ? add(sum, row) : { ...row, name });
  }
  return [...sums.values()];
}

const add = (sum: UsageSum, row: UsageRow): UsageSum => ({
  ...sum,
  requests: sum.requests + row.requests,
  errors: sum.errors + row.errors,
  input_tokens: sum.input_tokens + row.input_tokens,
  output_tokens: sum.output_tokens + row.output_tokens,
  images: sum.images + row.images,
  cost: sum.cost + row.cost,
  latency_p95_ms: largest(sum.latency_p95_ms, row.latency_p95_ms),
});

const largest = (a: number | null, b: number | null): number | null =>
  a === null ? b : b === null ? a : Math.max(a, b);
