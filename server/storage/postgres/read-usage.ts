/**
 * Reads usage: whole days from the roll-up by day, other hours from the one by hour, and the rows that are not rolled
 * up yet. The latest periods are read first, so that reading ends as soon as they fill the limit.
 */
import type { UsageGroup, UsageQuery, UsageReport } from "../ports/ledger-queries.ts";
import { Parameters, type Queries } from "../sql/database.ts";
import { labelFilterOf, labelKindOf } from "../sql/labels.ts";
import { dayMs, groupColumnOf, hourMs, sumColumns, toGroup } from "../sql/ledger-columns.ts";
import { filterOf } from "../sql/ledger-filter.ts";
import { rollUpsFor } from "../sql/roll-ups.ts";
import { type Batches, usageOf } from "./ledger-batches.ts";

/** Unix milliseconds. */
interface TimeRange {
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
}

/** Each further statement reads this many times as many periods. */
const growth = 4;

/** In a snapshot. */
export async function readUsage(
  db: Queries,
  query: UsageQuery,
  batches: Batches | undefined,
): Promise<UsageReport> {
  const { limit } = query;
  const whole = await rangeOf(db, query, batches);
  const groups: UsageGroup[] = [];
  let { to } = whole;
  for (let count = 1; to > whole.from && groups.length <= limit; count *= growth) {
    const from = Math.max(whole.from, startOf(query, to - 1, count - 1));
    groups.push(...(await readRange(db, query, { from, to }, batches)));
    to = from;
  }
  return { groups: groups.slice(0, limit), hasMore: groups.length > limit };
}

/** The start of the period (UTC) that is `before` periods before that of `at`. */
function startOf({ interval, from }: UsageQuery, at: number, before: number): number {
  if (interval === "total") return from - (from % hourMs);
  if (interval === "month") {
    const date = new Date(at);
    return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - before);
  }
  const lengthMs = interval === "day" ? dayMs : hourMs;
  return at - (at % lengthMs) - before * lengthMs;
}

/** The hours of the query in which there may be usage. */
async function rangeOf(
  db: Queries,
  { from, to }: UsageQuery,
  batches: Batches | undefined,
): Promise<TimeRange> {
  const { rows } = await db.query<{ first: number | null; last: number | null }>(
    "SELECT min(hour)::float8 AS first, max(hour)::float8 AS last FROM vexel.usage_by_hour_without_key",
  );
  const stored = rows[0] ?? { first: null, last: null };
  const first = Math.min(stored.first ?? Infinity, batches?.first ?? Infinity);
  const last = Math.max(stored.last ?? 0, batches?.last ?? 0);
  if (first === Infinity) return { from: 0, to: 0 };
  const end = Math.ceil(to / hourMs) * hourMs;
  return {
    from: Math.max(from - (from % hourMs), first - (first % dayMs)),
    // Today is a whole day if the query has all the usage of today.
    to: end > last ? Math.ceil((last + 1) / dayMs) * dayMs : end,
  };
}

const utc = "to_timestamp(hour / 1000) AT TIME ZONE 'UTC'";

/** The start of the period (UTC) that an hour is in, Unix milliseconds. */
const periodOf: Readonly<Record<UsageQuery["interval"], string>> = {
  hour: "hour",
  day: `hour - hour % ${dayMs}`,
  month: `(extract(epoch FROM date_trunc('month', ${utc})) * 1000)::bigint`,
  total: "0",
};

/** `range` has whole periods, except for the first and the last one of the query. */
async function readRange(
  db: Queries,
  query: UsageQuery,
  range: TimeRange,
  batches: Batches | undefined,
): Promise<UsageGroup[]> {
  const { interval, groupBy = [], limit } = query;
  const parameters = new Parameters();
  const columns = groupBy.map(groupColumnOf);
  const labels = labelFilterOf(query, labelKindOf(query, groupBy), parameters);
  const filter = filterOf(query, "= ''", parameters) + labels;
  const { hour, day } = rollUpsFor(query);
  const select = (
    source: string,
    start: string,
    { from, to }: TimeRange,
    condition = "",
  ): string[] =>
    from >= to
      ? []
      : [
          `SELECT ${[`${start} AS hour`, ...columns, ...sumColumns].join(", ")} FROM ${source}
           WHERE ${start} >= ${parameters.add(from)} AND ${start} < ${parameters.add(to)}${condition}`,
        ];
  const days = interval === "hour" ? { from: range.to, to: range.to } : wholeDaysOf(range);
  const parts = [
    ...select(`vexel.${day.table}`, "day", days, filter),
    ...select(`vexel.${hour.table}`, "hour", { from: range.from, to: days.from }, filter),
    ...select(`vexel.${hour.table}`, "hour", { from: days.to, to: range.to }, filter),
  ];
  if (batches && batches.first < range.to && batches.last >= range.from) {
    const ofLabel = columns.includes("label") ? labels : "";
    const ofRows = { columns, filter: filterOf(query, "IS NULL", parameters) + ofLabel };
    parts.push(...select(`(${usageOf(batches, parameters, ofRows)}) AS pending`, "hour", range));
  }
  const start = parameters.add(query.from - (query.from % hourMs));
  const { rows } = await db.query<Record<string, number | string>>(
    `SELECT greatest(${periodOf[interval]}, ${start}::bigint)::float8 AS "from",
       ${[...columns, ...sumColumns.map((name) => `sum(${name}::float8) AS ${name}`)].join(", ")}
     FROM (${parts.join(" UNION ALL ")}) AS usage
     GROUP BY ${["1", ...columns].join(", ")}
     ORDER BY ${["1 DESC", "sum(requests) DESC", ...columns].join(", ")}
     LIMIT ${parameters.add(limit + 1)}`,
    parameters.values,
  );
  return rows.map((row) => toGroup(row, Number(row.from), groupBy));
}

/** The whole days of a range. None: an empty range at its end. */
function wholeDaysOf({ from, to }: TimeRange): TimeRange {
  const [first, end] = [Math.ceil(from / dayMs) * dayMs, to - (to % dayMs)];
  return first < end ? { from: first, to: end } : { from: to, to };
}
