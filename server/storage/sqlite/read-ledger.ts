/** Reads the ledger: lists of rows, found by the roll-ups, and usage. For a read-only connection of its own. */
import type { Database, SQLQueryBindings } from "bun:sqlite";
import {
  type LedgerFilter,
  type LedgerListQuery,
  type LedgerPage,
  type Usage,
  type UsageDimension,
  type UsageGroup,
  type UsageQuery,
  usageDimensions,
} from "../ports/ledger-queries.ts";
import type { LedgerRow } from "../ports/ledger-row.ts";
import { listedColumns } from "./ledger-columns.ts";
import { groupColumns, hourMs, latencyColumns, sumColumns } from "./usage-table.ts";

interface Condition {
  readonly sql: string;
  readonly values: SQLQueryBindings[];
}

const columnOf = (dimension: UsageDimension): string =>
  groupColumns[usageDimensions.indexOf(dimension)] ?? dimension;

/** `absent`: how the table stores a value that a request does not have. */
function filterOf(filter: LedgerFilter, absent: "''" | "NULL"): Condition {
  const parts: string[] = [];
  const values: SQLQueryBindings[] = [];
  for (const dimension of usageDimensions) {
    const value = filter[dimension];
    if (value === undefined) continue;
    if (value === null) parts.push(`${columnOf(dimension)} IS ${absent}`);
    else {
      parts.push(`${columnOf(dimension)} = ?`);
      values.push(value);
    }
  }
  if (filter.projects) {
    parts.push(`project IN (${filter.projects.map(() => "?").join(", ")})`);
    values.push(...filter.projects);
  }
  return { sql: parts.map((part) => ` AND ${part}`).join(""), values };
}

/** The part of a list's filter that the roll-ups do not have. */
function rowFilterOf(query: LedgerListQuery): Condition {
  const parts: string[] = [];
  const values: SQLQueryBindings[] = [];
  const add = (sql: string, value: SQLQueryBindings | undefined): void => {
    if (value === undefined) return;
    parts.push(sql);
    values.push(value);
  };
  add("request_id = ?", query.requestId);
  add("error = ?", query.error);
  for (const [column, range] of [
    ["status", query.status],
    ["latency_ms", query.latencyMs],
    ["cost", query.cost],
  ] as const) {
    add(`${column} >= ?`, range?.min);
    add(`${column} <= ?`, range?.max);
  }
  if (query.failed !== undefined) parts.push(`error IS ${query.failed ? "NOT " : ""}NULL`);
  return { sql: parts.map((part) => ` AND ${part}`).join(""), values };
}

interface HourOfRows {
  readonly hour: number;
  readonly first: string;
  readonly last: string;
}

/**
 * The roll-ups are the index: they have the hours with matching rows, and the first and last request id of these rows. A
 * key with few requests has narrow bounds, and a key with many fills the page at once.
 */
export function listRows(db: Database, query: LedgerListQuery): LedgerPage {
  const { limit, failed = query.error !== undefined } = query;
  const cursor = parseCursor(query.cursor);
  const from = Math.max(query.from ?? 0, oldestRow(db));
  const to = query.to ?? Number.MAX_SAFE_INTEGER;
  const usageFilter = filterOf(query, "''");
  const hours = db
    .query<HourOfRows, SQLQueryBindings[]>(
      `SELECT hour, min(first_id) AS first, max(last_id) AS last FROM usage_by_hour
       WHERE hour >= ? AND hour < ? AND hour <= ?${usageFilter.sql}${failed ? " AND errors > 0" : ""}
       GROUP BY hour ORDER BY hour DESC`,
    )
    .iterate(from - (from % hourMs), to, cursor?.hour ?? to, ...usageFilter.values);
  const [groupFilter, rowFilter] = [filterOf(query, "NULL"), rowFilterOf(query)];
  const rowsOfHour = db.query<LedgerRow, SQLQueryBindings[]>(
    `SELECT ${listedColumns} FROM ledger
     WHERE request_id BETWEEN ? AND ? AND request_id < ? AND at >= ? AND at < ?${groupFilter.sql}${rowFilter.sql}
     ORDER BY request_id DESC LIMIT ?`,
  );
  const entries: LedgerRow[] = [];
  for (const { hour, first, last } of hours) {
    const before = hour === cursor?.hour ? cursor.requestId : `${last}\u0000`;
    // One more than the limit shows whether there is another page.
    const missing = limit + 1 - entries.length;
    const range = [Math.max(hour, from), Math.min(hour + hourMs, to)];
    const values = [...range, ...groupFilter.values, ...rowFilter.values];
    entries.push(...rowsOfHour.all(first, last, before, ...values, missing));
    if (entries.length > limit) break;
  }
  const page = entries.slice(0, limit);
  const end = page.at(-1);
  return entries.length > limit && end
    ? { entries: page, next: `${end.at - (end.at % hourMs)}.${end.requestId}` }
    : { entries: page };
}

function parseCursor(cursor: string | undefined) {
  const [, hour, requestId] = /^(\d{1,16})\.(.+)$/s.exec(cursor ?? "") ?? [];
  return hour === undefined || requestId === undefined
    ? undefined
    : { hour: Number(hour), requestId };
}

/** Usage outlives the rows: hours before this row have none. */
const oldestRow = (db: Database): number =>
  db.query<{ at: number }, []>("SELECT at FROM ledger ORDER BY request_id LIMIT 1").get()?.at ?? 0;

type UsageRow = Record<string, number | string>;

/**
 * Sums one day or month after the other: a range of hours is an index range, and the latest periods may fill the limit.
 * Hours are summed in one query, because they are groups of the table.
 */
export function readUsage(db: Database, query: UsageQuery): Usage {
  const { interval, groupBy = [], limit } = query;
  const filter = filterOf(query, "''");
  const columns = groupBy.map(columnOf);
  const grouping = [...(interval === "hour" ? ["hour"] : []), ...columns];
  const order = [...(interval === "hour" ? ["hour DESC"] : []), "sum(requests) DESC", ...columns];
  const sums = sumColumns.map((name) => `sum(${name}) AS ${name}`);
  const ofPeriod = db.query<UsageRow, SQLQueryBindings[]>(
    `SELECT ${[...grouping, ...sums].join(", ")} FROM usage_by_hour
     WHERE hour >= ? AND hour < ?${filter.sql} ${grouping.length > 0 ? `GROUP BY ${grouping.join(", ")}` : ""}
     HAVING sum(requests) > 0 ORDER BY ${order.join(", ")} LIMIT ?`,
  );
  const groups: UsageGroup[] = [];
  for (const { from, to } of periodsOf(query, db)) {
    const missing = limit + 1 - groups.length;
    const rows = ofPeriod.all(from, to, ...filter.values, missing);
    groups.push(...rows.map((row) => toGroup(row, Number(row.hour ?? from), groupBy)));
    if (groups.length > limit) break;
  }
  return { groups: groups.slice(0, limit), hasMore: groups.length > limit };
}

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
  const start = from - (from % hourMs);
  if (interval === "total" || interval === "hour") {
    yield { from: start, to };
    return;
  }
  const stored = storedHours(db);
  const first = Math.max(start, stored.from);
  for (let end = Math.min(to, stored.to); end > first; ) {
    const startOfPeriod = startOf(interval, end - 1);
    yield { from: Math.max(startOfPeriod, start), to: end };
    end = startOfPeriod;
  }
}

function startOf(interval: "day" | "month", at: number): number {
  const date = new Date(at);
  const day = interval === "day" ? date.getUTCDate() : 1;
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), day);
}

export function toGroup(
  row: UsageRow,
  from: number,
  groupBy: readonly UsageDimension[],
): UsageGroup {
  const sum = (name: string): number => Number(row[name] ?? 0);
  const dimensions = groupBy.map((dimension) => [dimension, row[columnOf(dimension)] || null]);
  return {
    from,
    ...Object.fromEntries(dimensions),
    requests: sum("requests"),
    errors: sum("errors"),
    unmeteredRequests: sum("unmetered"),
    unpricedRequests: sum("unpriced"),
    inputTokens: sum("input_tokens"),
    outputTokens: sum("output_tokens"),
    images: sum("images"),
    inputs: sum("inputs"),
    cachedInputs: sum("cached_inputs"),
    cost: sum("cost"),
    estimatedCost: sum("estimated_cost"),
    latencyMs: sum("latency_ms"),
    latencyHistogram: latencyColumns.map(sum),
  };
}
