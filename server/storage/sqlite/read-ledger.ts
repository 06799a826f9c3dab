/**
 * Reads usage over a read-only connection: complete days from the roll-ups by day, and the edges from those by hour.
 */
import type { Database } from "bun:sqlite";
import {
  type LedgerDimension,
  ledgerDimensions,
  type UsageGroup,
  type UsageQuery,
  type UsageReport,
} from "../ports/ledger-queries.ts";
import { Parameters, type SqlValue } from "../sql/database.ts";
import {
  columnOf,
  dayMs,
  groupColumns,
  hourMs,
  sumColumns,
  toGroup,
} from "../sql/ledger-columns.ts";
import { filterOf } from "../sql/ledger-filter.ts";
import type { coarseTables } from "./usage-table.ts";

type UsageRow = Record<string, number | string>;

/**
 * Sums one day or month after the other: a range of hours is an index range, and the latest periods may fill the limit.
 * Hours are summed in one query, because they are groups of the table.
 */
export function readUsage(db: Database, query: UsageQuery): UsageReport {
  const { interval, groupBy = [], limit } = query;
  const columns = groupBy.map(columnOf);
  const grouping = [...(interval === "hour" ? ["hour"] : []), ...columns];
  const order = [...(interval === "hour" ? ["hour DESC"] : []), "sum(requests) DESC", ...columns];
  const sums = sumColumns.map((name) => `sum(${name}) AS ${name}`);
  const select = (source: string, rows: string): string =>
    `SELECT ${[...grouping, ...sums].join(", ")} FROM ${source}
     ${grouping.length > 0 ? `GROUP BY ${grouping.join(", ")}` : ""}
     HAVING sum(requests) > 0 ORDER BY ${order.join(", ")} LIMIT ${rows}`;
  const groups: UsageGroup[] = [];
  for (const period of periodsOf(query, db)) {
    const missing = limit + 1 - groups.length;
    const ranges = rangesOf(period, query, finishedUntil(db));
    const parameters = new Parameters("?");
    const filter = filterOf(query, "= ''", parameters);
    const source = ranges.map((range) => sourceOf(range, groupBy, filter, parameters));
    const sql = select(`(${source.join(" UNION ALL ")})`, parameters.add(missing));
    const rows = db.query<UsageRow, SqlValue[]>(sql).all(...parameters.values);
    groups.push(...rows.map((row) => toGroup(row, startOfGroup(row, period, query), groupBy)));
    if (groups.length > limit) break;
  }
  return { groups: groups.slice(0, limit), hasMore: groups.length > limit };
}

interface TableRange extends HourRange {
  readonly table: "usage_by_hour" | keyof typeof coarseTables;
  /** The column with the start of the hour or day. */
  readonly start: "hour" | "day";
}

/**
 * Sums each hour or day by the first columns of the primary key, in its order and therefore without sorting; only
 * these sums are grouped again. The tables by key have hardly more rows than such sums.
 */
function sourceOf(
  { table, start, from, to }: TableRange,
  groupBy: readonly LedgerDimension[],
  filter: string,
  parameters: Parameters,
): string {
  const last = Math.max(-1, ...groupBy.map((dimension) => ledgerDimensions.indexOf(dimension)));
  const prefix = groupColumns.slice(0, last + 1);
  const condition = `${start} >= ${parameters.add(from)} AND ${start} < ${parameters.add(to)}${filter}`;
  if (table === "usage_by_key" || table === "usage_by_day_and_key") {
    return `SELECT ${[`${start} AS hour`, ...prefix, ...sumColumns].join(", ")} FROM ${table}
      WHERE ${condition}`;
  }
  const sums = sumColumns.map((name) => `sum(${name}) AS ${name}`);
  return `SELECT ${[`${start} AS hour`, ...prefix, ...sums].join(", ")} FROM ${table}
    WHERE ${condition} GROUP BY ${[start, ...prefix].join(", ")}`;
}

const startOfGroup = (
  { hour }: UsageRow,
  period: HourRange,
  { interval, from }: UsageQuery,
): number => {
  if (interval === "total") return from - (from % hourMs);
  return interval === "hour" ? Number(hour) : period.from;
};

/** The coarsest tables that have the period: first those of finished hours, then the hours themselves. */
function rangesOf({ from, to }: HourRange, query: UsageQuery, until: number): TableRange[] {
  const { interval } = query;
  const ranges: TableRange[] = [];
  const add = (range: TableRange): void => {
    if (range.from < range.to) ranges.push(range);
  };
  const end = Math.max(from, Math.min(to, until));
  const { hourTable, dayTable } = tablesFor(query);
  const hours = { table: hourTable, start: "hour" } as const;
  const days = { table: dayTable, start: "day" } as const;
  const firstDay = Math.ceil(from / dayMs) * dayMs;
  const lastDay = end - (end % dayMs);
  if (interval !== "hour" && firstDay < lastDay) {
    add({ ...hours, from, to: firstDay });
    add({ ...days, from: firstDay, to: lastDay });
    add({ ...hours, from: lastDay, to: end });
  } else add({ ...hours, from, to: end });
  add({ table: "usage_by_hour", start: "hour", from: end, to });
  return ranges;
}

/** The coarsest tables whose groups have every dimension of the query. */
function tablesFor(query: UsageQuery) {
  const { groupBy = [] } = query;
  const needed = new Set([
    ...groupBy,
    ...ledgerDimensions.filter((dimension) => query[dimension] !== undefined),
  ]);
  if (!needed.delete("keyId")) {
    return { hourTable: "usage_without_key", dayTable: "usage_by_day_without_key" } as const;
  }
  needed.delete("project");
  return needed.size === 0
    ? ({ hourTable: "usage_by_key", dayTable: "usage_by_day_and_key" } as const)
    : ({ hourTable: "usage_by_hour", dayTable: "usage_by_day" } as const);
}

/** Hours before this one are in the coarser tables. */
export const finishedUntil = (db: Database): number =>
  db.query<{ until: number }, []>("SELECT until FROM finished_usage").get()?.until ?? 0;

interface HourRange {
  readonly from: number;
  readonly to: number;
}

/** The hours that have usage. */
function storedHours(db: Database): HourRange {
  const edge = (order: "ASC" | "DESC") =>
    db
      .query<{ hour: number }, []>(`SELECT hour FROM usage_by_hour ORDER BY hour ${order} LIMIT 1`)
      .get()?.hour;
  const [first, last] = [edge("ASC"), edge("DESC")];
  return { from: first ?? 0, to: last === undefined ? 0 : last + hourMs };
}

/** The ranges of hours that are summed one by one, the latest first: only those in which there may be usage. */
function* periodsOf({ from, to, interval }: UsageQuery, db: Database): Generator<HourRange> {
  const stored = storedHours(db);
  const start = from - (from % hourMs);
  const [first, last] = [Math.max(start, stored.from), Math.min(roundUp(to), stored.to)];
  if (interval === "total") {
    // The range of the query is the period, with the hours that have usage.
    if (first < last) yield { from: first, to: last };
    return;
  }
  // The hours of one day are summed by one query: the latest day may fill the limit.
  const step = interval === "month" ? "month" : "day";
  for (let end = last; end > first; ) {
    const startOfPeriod = startOf(step, end - 1);
    yield { from: Math.max(startOfPeriod, start), to: end };
    end = startOfPeriod;
  }
}

const roundUp = (at: number): number => Math.ceil(at / hourMs) * hourMs;

function startOf(interval: "day" | "month", at: number): number {
  const date = new Date(at);
  const day = interval === "day" ? date.getUTCDate() : 1;
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), day);
}
