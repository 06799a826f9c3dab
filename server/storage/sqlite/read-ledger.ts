/** Reads usage over a read-only connection: whole days from the roll-up by day, and other hours from the one by hour. */
import type { Database } from "bun:sqlite";
import { LocalPeriods } from "../../lib/local-periods.ts";
import { dayMs, hourMs } from "../../lib/timers.ts";
import {
  groupKey,
  type UsageGroup,
  type UsageQuery,
  type UsageReport,
} from "../ports/ledger-queries.ts";
import { Parameters, type SqlValue } from "../sql/database.ts";
import { filteredLabel, labelFilterOf, labelKindOf, nameIn } from "../sql/labels.ts";
import { groupColumnOf, isLabelKind, sumColumns, toGroup } from "../sql/ledger-columns.ts";
import { filterOf } from "../sql/ledger-filter.ts";
import { rollUpsFor } from "../sql/roll-ups.ts";
import { readsHours, type TimeRange, usageRange } from "../sql/usage-range.ts";
import { daysOf, periodFilterOf } from "./usage-table.ts";

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
  const { limit } = query;
  const groups = new Map<string, GroupSums>();
  let period = Number.POSITIVE_INFINITY;
  const startOf = periodStarts(query);
  for (const day of daysOf(rangeOf(db, query))) {
    const start = startOf(day.from);
    // A day of UTC may belong to two days of a time zone, so all of them are read.
    const isComplete = start < period && query.timeZone === undefined;
    if (isComplete && groups.size > limit) break;
    period = start;
    addDay(groups, db, day, query, startOf);
  }
  const sorted = [...groups.values()].toSorted(compareGroups);
  return {
    groups: sorted.slice(0, limit).map((group) => toUsageGroup(group, query)),
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
  startOf: (hour: number) => number,
): void {
  const { groupBy = [] } = query;
  const byHour = readsHours(query);
  const isWholeDay = !byHour && day.to - day.from === dayMs;
  const rollUp = rollUpsFor(query)[isWholeDay ? "day" : "hour"];
  const { table, start, columns } = rollUp;
  const prefix: string[] = [start, ...columns];
  const indexes = groupBy.map((dimension) => prefix.indexOf(groupColumnOf(dimension)));
  prefix.length = Math.max(0, ...indexes) + 1;
  const sums = sumColumns.map((name) => `sum(${name})`);
  const parameters = new Parameters("?");
  const period = periodFilterOf(rollUp, day, isSearch(query), parameters);
  const labels = labelFilterOf(query, labelKindOf(query), parameters);
  const statement = db.query<never, SqlValue[]>(
    `SELECT ${[...prefix, ...sums].join(", ")} FROM ${table}
     WHERE ${period}${labels}${filterOf(query, "= ''", parameters)} GROUP BY ${prefix.join(", ")}`,
  );
  const startOfPeriod = startOf(day.from);
  const nameOf = namesIn(query, indexes);
  for (const row of statement.values(...parameters.values) as (string | number)[][]) {
    const from = byHour ? startOf(Number(row[0])) : startOfPeriod;
    const name = nameOf(row);
    const id = `${from}\n${name}`;
    const group = groups.get(id);
    if (group) addSums(group.sums, row, prefix.length);
    else {
      const names = query.groupNames ? [name] : indexes.map((at) => String(row[at]));
      groups.set(id, { from, names, sums: row.slice(prefix.length) as number[] });
    }
  }
}

type Row = readonly (string | number)[];

/** The name of the group of a row: that of `groupNames`, or else its values. `indexes`: of its values. */
function namesIn(
  { groupBy = [], groupNames }: UsageQuery,
  indexes: readonly number[],
): (row: Row) => string {
  if (!groupNames) {
    return (row) => {
      let name = "";
      for (const at of indexes) name += `\n${row[at]}`;
      return name;
    };
  }
  const isLabel = groupBy.map(isLabelKind);
  return (row) => {
    const values = indexes.map((at, which) =>
      isLabel[which] ? nameIn(String(row[at])) : String(row[at]),
    );
    return groupNames.of.get(groupKey(values)) ?? groupNames.other;
  };
}

/** Whether the query names what the primary key begins with after the period: a label, or else a key. */
function isSearch(query: UsageQuery): boolean {
  const kind = labelKindOf(query);
  return (kind ? filteredLabel(query, kind) : query.keyId) !== undefined;
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
  { groupBy = [], groupNames }: UsageQuery,
): UsageGroup {
  if (groupNames) {
    const values = sumColumns.map((name, at) => [name, sums[at] ?? 0]);
    return { ...toGroup(Object.fromEntries(values), from, []), name: names[0] ?? "" };
  }
  const values = [
    ...groupBy.map((dimension, at) => [groupColumnOf(dimension), names[at] ?? ""]),
    ...sumColumns.map((name, at) => [name, sums[at] ?? 0]),
  ];
  return toGroup(Object.fromEntries(values), from, groupBy);
}

function rangeOf(db: Database, query: UsageQuery): TimeRange {
  const edge = (order: "ASC" | "DESC"): number | undefined =>
    db
      .query<{ hour: number }, []>(
        `SELECT hour FROM usage_by_hour_without_key ORDER BY hour ${order} LIMIT 1`,
      )
      .get()?.hour;
  return usageRange(query, edge("ASC") ?? 0, edge("DESC") ?? -1);
}

/** Returns the start of the period that an hour is in, and not before the start of the query. */
function periodStarts({ interval, from, timeZone }: UsageQuery): (hour: number) => number {
  const start = from - (from % hourMs);
  if (interval === "total") return () => start;
  if (interval === "hour") return (hour) => hour;
  if (timeZone !== undefined) {
    const periods = new LocalPeriods(timeZone, interval);
    return (hour) => Math.max(start, periods.startOf(hour));
  }
  return (hour) => {
    const date = new Date(hour);
    const day = interval === "month" ? 1 : date.getUTCDate();
    return Math.max(start, Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), day));
  };
}
