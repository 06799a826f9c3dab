/**
 * Reads usage: whole days from the roll-up by day, other hours from the one by hour, and the rows that are not rolled
 * up yet. The latest periods are read first, so that reading ends as soon as they fill the limit.
 */
import { dayMs, hourMs } from "../../lib/timers.ts";
import type { UsageGroup, UsageQuery, UsageReport } from "../ports/ledger-queries.ts";
import { Parameters, type Queries } from "../sql/database.ts";
import { labelFilterOf, labelKindOf, rowLabeledFilterOf } from "../sql/labels.ts";
import { groupColumnOf, isLabelKind, sumColumns, toGroup } from "../sql/ledger-columns.ts";
import { filterOf } from "../sql/ledger-filter.ts";
import { rollUpsFor } from "../sql/roll-ups.ts";
import { readsHours, type TimeRange, usageRange } from "../sql/usage-range.ts";
import { type Batches, usageOf } from "./ledger-batches.ts";

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
function startOf({ interval, from, timeZone }: UsageQuery, at: number, before: number): number {
  // The periods of a time zone begin at other hours: they are read by one statement.
  if (interval === "total" || timeZone !== undefined) return from - (from % hourMs);
  if (interval === "month") {
    const date = new Date(at);
    return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - before);
  }
  const lengthMs = interval === "day" ? dayMs : hourMs;
  return at - (at % lengthMs) - before * lengthMs;
}

async function rangeOf(
  db: Queries,
  query: UsageQuery,
  batches: Batches | undefined,
): Promise<TimeRange> {
  const { rows } = await db.query<{ first: number | null; last: number | null }>(
    "SELECT min(hour)::float8 AS first, max(hour)::float8 AS last FROM vexel.usage_by_hour_without_key",
  );
  const stored = rows[0] ?? { first: null, last: null };
  const first = Math.min(stored.first ?? Infinity, batches?.first ?? Infinity);
  const last = Math.max(stored.last ?? 0, batches?.last ?? 0);
  return first === Infinity ? { from: 0, to: 0 } : usageRange(query, first, last);
}

const utc = "to_timestamp(hour / 1000) AT TIME ZONE 'UTC'";

/** The start of the period (UTC) that an hour is in, Unix milliseconds. */
const utcPeriods: Readonly<Record<UsageQuery["interval"], string>> = {
  hour: "hour",
  day: `hour - hour % ${dayMs}`,
  month: `(extract(epoch FROM date_trunc('month', ${utc})) * 1000)::bigint`,
  total: "0",
};

/** In a time zone, the first whole hour (UTC) of the period. */
function periodOf({ interval, timeZone }: UsageQuery, parameters: Parameters): string {
  if (timeZone === undefined || interval === "hour" || interval === "total") {
    return utcPeriods[interval];
  }
  const zone = `${parameters.add(timeZone)}::text`;
  const local = `date_trunc('${interval}', to_timestamp(hour / 1000) AT TIME ZONE ${zone})`;
  return `(ceil(extract(epoch FROM ${local} AT TIME ZONE ${zone}) / 3600) * ${hourMs})::bigint`;
}

/** The columns of a group, or its name, as SQL. */
function groupsOf({ groupBy = [], groupNames }: UsageQuery, parameters: Parameters): string[] {
  if (!groupNames) return groupBy.map(groupColumnOf);
  const values = groupBy.map((dimension) =>
    isLabelKind(dimension) ? "substr(label, strpos(label, '=') + 1)" : groupColumnOf(dimension),
  );
  const names = parameters.add(JSON.stringify(Object.fromEntries(groupNames.of)));
  const other = parameters.add(groupNames.other);
  return [`coalesce(${names}::text::jsonb ->> (${values.join(" || E'\\n' || ")}), ${other}::text)`];
}

/** `range` has whole periods, except for the first and the last one of the query. */
async function readRange(
  db: Queries,
  query: UsageQuery,
  range: TimeRange,
  batches: Batches | undefined,
): Promise<UsageGroup[]> {
  const { groupBy = [], limit } = query;
  const parameters = new Parameters();
  const columns = groupBy.map(groupColumnOf);
  const labels = labelFilterOf(query, labelKindOf(query), parameters);
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
  const days = readsHours(query) ? { from: range.to, to: range.to } : wholeDaysOf(range);
  const parts = [
    ...select(`vexel.${day.table}`, "day", days, filter),
    ...select(`vexel.${hour.table}`, "hour", { from: range.from, to: days.from }, filter),
    ...select(`vexel.${hour.table}`, "hour", { from: days.to, to: range.to }, filter),
  ];
  if (batches && batches.first < range.to && batches.last >= range.from) {
    const ofLabel = columns.includes("label") ? labels : "";
    const filter = filterOf(query, "IS NULL", parameters) + rowLabeledFilterOf(query) + ofLabel;
    const ofRows = { columns, filter };
    parts.push(...select(`(${usageOf(batches, parameters, ofRows)}) AS pending`, "hour", range));
  }
  const start = parameters.add(query.from - (query.from % hourMs));
  const groups = groupsOf(query, parameters);
  const positions = groups.map((_, at) => String(at + 2));
  const sums = sumColumns.map((name) => `sum(${name}::float8) AS ${name}`);
  const named = query.groupNames ? groups.map((name) => `${name} AS name`) : groups;
  const { rows } = await db.query<Record<string, number | string>>(
    `SELECT greatest(${periodOf(query, parameters)}, ${start}::bigint)::float8 AS "from",
       ${[...named, ...sums].join(", ")}
     FROM (${parts.join(" UNION ALL ")}) AS usage
     GROUP BY ${["1", ...positions].join(", ")}
     ORDER BY ${["1 DESC", "sum(requests) DESC", ...positions].join(", ")}
     LIMIT ${parameters.add(limit + 1)}`,
    parameters.values,
  );
  return rows.map((row) =>
    query.groupNames
      ? { ...toGroup(row, Number(row.from), []), name: String(row.name) }
      : toGroup(row, Number(row.from), groupBy),
  );
}

/** The whole days of a range. None: an empty range at its end. */
function wholeDaysOf({ from, to }: TimeRange): TimeRange {
  const [first, end] = [Math.ceil(from / dayMs) * dayMs, to - (to % dayMs)];
  return first < end ? { from: first, to: end } : { from: to, to };
}
