/** Reads usage over a read-only connection: whole days from the roll-up by day, and other hours from the one by hour. */
import type { Database } from "bun:sqlite";
import type { UsageGroup, UsageQuery, UsageReport } from "../ports/ledger-queries.ts";
import { Parameters, type SqlValue } from "../sql/database.ts";
import { labelFilterOf, labelKindOf } from "../sql/labels.ts";
import { dayMs, groupColumnOf, hourMs, sumColumns, toGroup } from "../sql/ledger-columns.ts";
import { filterOf } from "../sql/ledger-filter.ts";
import { rollUpsFor } from "../sql/roll-ups.ts";
import { daysOf, periodFilterOf, type TimeRange } from "./usage-table.ts";

interface GroupSums {
  readonly from: number;
  /** The values of `groupBy`. */
  readonly names: readonly string[];
  /** In the order of `sumColumns`. */
  readonly sums: number[];
}

/** In one transaction, so that all statements read the same state. */
export const readUsage = (db: Database, query: UsageQuery): UsageReport =>
  db.transaction(readDays)(db, query);

/** Reads day after day, the latest first, so that it ends as soon as the latest periods fill the limit. */
function readDays(db: Database, query: UsageQuery): UsageReport {
  const { groupBy = [], limit } = query;
  const groups = new Map<string, GroupSums>();
  let period = Number.POSITIVE_INFINITY;
  for (const day of daysOf(rangeOf(db, query))) {
    const isNewPeriod = periodOf(day.from, query) < period;
    if (isNewPeriod && groups.size > limit) break;
    period = periodOf(day.from, query);
    addDay(groups, db, day, query);
  }
  const sorted = [...groups.values()].toSorted(compareGroups);
  return {
    groups: sorted.slice(0, limit).map((group) => toUsageGroup(group, groupBy)),
    hasMore: sorted.length > limit,
  };
}

/**
 * Adds the usage of a day, or of a part of it. SQLite sums by the first columns of the primary key, in its order and
 * therefore without sorting: a group may occur several times.
 */
function addDay(
  groups: Map<string, GroupSums>,
  db: Database,
  day: TimeRange,
  query: UsageQuery,
): void {
  const { interval, groupBy = [] } = query;
  const isWholeDay = interval !== "hour" && day.to - day.from === dayMs;
  const rollUp = rollUpsFor(query)[isWholeDay ? "day" : "hour"];
  const { table, start, columns } = rollUp;
  const prefix: string[] = [start, ...columns];
  const indexes = groupBy.map((dimension) => prefix.indexOf(groupColumnOf(dimension)));
  prefix.length = Math.max(0, ...indexes) + 1;
  const sums = sumColumns.map((name) => `sum(${name})`);
  const parameters = new Parameters("?");
  const period = periodFilterOf(rollUp, day, isSearch(query), parameters);
  const labels = labelFilterOf(query, labelKindOf(query, groupBy), parameters);
  const statement = db.query<never, SqlValue[]>(
    `SELECT ${[...prefix, ...sums].join(", ")} FROM ${table}
     WHERE ${period}${labels}${filterOf(query, "= ''", parameters)} GROUP BY ${prefix.join(", ")}`,
  );
  const startOfPeriod = periodOf(day.from, query);
  for (const row of statement.values(...parameters.values) as (string | number)[][]) {
    const from = interval === "hour" ? Number(row[0]) : startOfPeriod;
    let id = `${from}`;
    for (const at of indexes) id += `\n${row[at]}`;
    const group = groups.get(id);
    if (group) addSums(group.sums, row, prefix.length);
    else {
      const names = indexes.map((at) => String(row[at]));
      groups.set(id, { from, names, sums: row.slice(prefix.length) as number[] });
    }
  }
}

/** Whether the query names what the primary key begins with after the period: a label, or else a key. */
function isSearch(query: UsageQuery): boolean {
  const kind = labelKindOf(query, query.groupBy);
  return (kind ? query[kind] : query.keyId) !== undefined;
}

/** Adds the values of a row from the index `first` on. */
function addSums(sums: number[], row: readonly unknown[], first: number): void {
  for (let at = 0; at < sums.length; at++) (sums[at] as number) += row[first + at] as number;
}

/** The latest period first, and in it the group with the most requests. */
function compareGroups(one: GroupSums, other: GroupSums): number {
  const requests = (other.sums[0] ?? 0) - (one.sums[0] ?? 0);
  return (
    other.from - one.from || requests || (one.names.join("\n") < other.names.join("\n") ? -1 : 1)
  );
}

function toUsageGroup(
  { from, names, sums }: GroupSums,
  groupBy: NonNullable<UsageQuery["groupBy"]>,
): UsageGroup {
  const values = [
    ...groupBy.map((dimension, at) => [groupColumnOf(dimension), names[at] ?? ""]),
    ...sumColumns.map((name, at) => [name, sums[at] ?? 0]),
  ];
  return toGroup(Object.fromEntries(values), from, groupBy);
}

/** The hours of the query in which there may be usage. */
function rangeOf(db: Database, { from, to }: UsageQuery): TimeRange {
  const edge = (order: "ASC" | "DESC"): number | undefined =>
    db
      .query<{ hour: number }, []>(
        `SELECT hour FROM usage_by_hour_without_key ORDER BY hour ${order} LIMIT 1`,
      )
      .get()?.hour;
  const [first = 0, last = -hourMs] = [edge("ASC"), edge("DESC")];
  const end = Math.ceil(to / hourMs) * hourMs;
  return {
    from: Math.max(from - (from % hourMs), first - (first % dayMs)),
    // Today is a whole day if the query has all the usage of today.
    to: end > last ? Math.ceil((last + hourMs) / dayMs) * dayMs : end,
  };
}

/** The start of the period (UTC) that a time is in, and not before the start of the query. */
function periodOf(at: number, { interval, from }: UsageQuery): number {
  const start = from - (from % hourMs);
  if (interval === "total") return start;
  const date = new Date(at);
  const day = interval === "month" ? 1 : date.getUTCDate();
  return Math.max(start, Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), day));
}
