/** Fills periods without requests with zeros: a chart of the stored periods alone would join points across gaps. */
import type { UsageInterval, UsageRow } from "../../../contract/admin.ts";

const lengthMs = { hour: 3_600_000, day: 86_400_000 } as const;

/** `rows`: in any order. The result is in order of time. `from` and `to`: Unix milliseconds. */
export function fillPeriods(
  rows: readonly UsageRow[],
  interval: UsageInterval,
  from: number,
  to: number,
): readonly UsageRow[] {
  const stepMs = interval === "day" ? lengthMs.day : lengthMs.hour;
  const byStart = new Map(rows.map((row) => [Date.parse(row.start), row]));
  const filled: UsageRow[] = [];
  for (let start = Math.floor(from / stepMs) * stepMs; start < to; start += stepMs) {
    // The first day may begin in the middle, at the start of the range.
    const atEdge = filled.length === 0 ? firstIn(byStart, start, start + stepMs) : undefined;
    filled.push(byStart.get(start) ?? atEdge ?? emptyRow(start));
  }
  return filled;
}

const firstIn = (rows: ReadonlyMap<number, UsageRow>, from: number, to: number) =>
  [...rows].find(([start]) => start >= from && start < to)?.[1];

const emptyRow = (start: number): UsageRow => ({
  object: "usage",
  start: new Date(start).toISOString(),
  group: {},
  key_name: null,
  requests: 0,
  errors: 0,
  input_tokens: 0,
  output_tokens: 0,
  images: 0,
  inputs: 0,
  cached_inputs: 0,
  cost: 0,
  requests_without_cost: 0,
  estimated_cost: 0,
  latency_p50_ms: null,
  latency_p95_ms: null,
  latency_p99_ms: null,
});
