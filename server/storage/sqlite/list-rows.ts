/**
 * Lists ledger rows, the latest first. Segment summaries say which segments may have a matching row. A page has a time
 * limit and returns a cursor to the point that it reached. Runs on a read-only connection of its own.
 */
import type { Database } from "bun:sqlite";
import {
  type LedgerListQuery,
  type LedgerPage,
  ledgerDimensions,
  type ValueRange,
} from "../ports/ledger-queries.ts";
import type { LedgerRow } from "../ports/ledger-row.ts";
import { Parameters, type SqlValue } from "../sql/database.ts";
import { hourMs, listedColumns } from "../sql/ledger-columns.ts";
import { filterOf, rowFilterOf } from "../sql/ledger-filter.ts";
import { finishedUntil } from "./read-ledger.ts";
import { mayHaveTerm, type Term } from "./segment-table.ts";

export interface ListClock {
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  /** The time limit of one page. */
  readonly pageMs: number;
}

interface FoundSegment {
  readonly first_id: string;
  readonly last_id: string;
  readonly min_at: number;
  readonly max_at: number;
  readonly terms: Uint8Array;
}

export function listRows(
  db: Database,
  query: LedgerListQuery,
  { clock, pageMs }: ListClock,
): LedgerPage {
  const { limit, cursor, requestId } = query;
  const rows = rowsOf(db, query);
  if (requestId !== undefined) return { entries: rows(requestId, requestId, limit) };
  const deadline = clock() + pageMs;
  const mayMatch = segmentFilter(db, query);
  const entries: LedgerRow[] = [];
  for (const segment of segmentsOf(db, query)) {
    const { first_id: firstId, last_id: lastId, min_at: scannedUntil } = segment;
    if (!mayMatch(segment)) continue;
    // One more than the limit shows whether there is another page.
    entries.push(...rows(firstId, lastId, limit + 1 - entries.length));
    if (entries.length > limit) {
      const page = entries.slice(0, limit);
      return { entries: page, next: page.at(-1)?.requestId ?? cursor ?? "" };
    }
    if (clock() >= deadline) return { entries, next: firstId, scannedUntil };
  }
  return { entries };
}

/** The matching rows from one request id to another, both inclusive, the latest first. */
function rowsOf(db: Database, query: LedgerListQuery) {
  const { from = 0, to = Number.MAX_SAFE_INTEGER, cursor } = query;
  // The first three parameters are different for each segment.
  const parameters = new Parameters("?");
  const [first, last, most] = ["", "", 0].map((value) => parameters.add(value));
  const before = cursor === undefined ? "" : ` AND request_id < ${parameters.add(cursor)}`;
  const time = ` AND at >= ${parameters.add(from)} AND at < ${parameters.add(to)}`;
  const filter = filterOf(query, "IS NULL", parameters) + rowFilterOf(query, parameters);
  const statement = db.query<LedgerRow, SqlValue[]>(
    `SELECT ${listedColumns} FROM ledger
     WHERE request_id BETWEEN ${first} AND ${last}${before}${time}${filter}
     ORDER BY request_id DESC LIMIT ${most}`,
  );
  const values = parameters.values.slice(3);
  return (firstId: string, lastId: string, limit: number): LedgerRow[] =>
    statement.all(firstId, lastId, limit, ...values);
}

/** The segments whose numbers may match, the latest first. */
function segmentsOf(db: Database, query: LedgerListQuery): IterableIterator<FoundSegment> {
  const { from, to, cursor, failed, status, latencyMs, cost } = query;
  const parameters = new Parameters("?");
  const condition = (comparison: string, value: SqlValue | undefined): string =>
    value === undefined ? "" : ` AND ${comparison} ${parameters.add(value)}`;
  const overlap = (column: string, range: ValueRange | undefined): string =>
    condition(`max_${column} >=`, range?.min) + condition(`min_${column} <=`, range?.max);
  const conditions = [
    condition("first_id <", cursor),
    condition("max_at >=", from),
    condition("min_at <", to),
    overlap("status", status),
    overlap("latency_ms", latencyMs),
    overlap("cost", cost),
    failed === undefined ? "" : ` AND errors ${failed ? "> 0" : "< rows"}`,
  ];
  return db
    .query<FoundSegment, SqlValue[]>(
      `SELECT first_id, last_id, min_at, max_at, terms FROM ledger_segments
       WHERE true${conditions.join("")} ORDER BY first_id DESC`,
    )
    .iterate(...parameters.values);
}

/** Whether a segment may have a row with the key, model and other texts of the query. */
function segmentFilter(db: Database, query: LedgerListQuery): (segment: FoundSegment) => boolean {
  const terms = termsOf(query);
  const { projects } = query;
  const hours = hoursOf(db, query);
  return ({ terms: filter, min_at: from, max_at: to }) =>
    terms.every(([term, value]) => mayHaveTerm(filter, term, value)) &&
    (projects === undefined || projects.some((each) => mayHaveTerm(filter, "project", each))) &&
    (hours === undefined || overlaps(hours, from, to));
}

const termsOf = (query: LedgerListQuery): (readonly [Term, string | null])[] =>
  [...ledgerDimensions, "error" as const].flatMap((term) => {
    const value = query[term];
    return value === undefined ? [] : [[term, value] as const];
  });

/**
 * The hours with a usage group that matches all texts of the query, such as a key and a model. The terms of a segment
 * do not show that: each text alone may be in every segment. Undefined: the query has fewer than two texts.
 */
function hoursOf(db: Database, query: LedgerListQuery): Set<number> | undefined {
  const filtered = ledgerDimensions.filter((dimension) => query[dimension] !== undefined);
  if (filtered.length + (query.projects ? 1 : 0) < 2) return undefined;
  const { from = 0, to = Number.MAX_SAFE_INTEGER } = query;
  const hoursIn = (table: string, first: number): number[] => {
    const parameters = new Parameters("?");
    const time = `hour >= ${parameters.add(first)} AND hour < ${parameters.add(to)}`;
    const filter = filterOf(query, "= ''", parameters);
    return db
      .query<{ hour: number }, SqlValue[]>(
        `SELECT DISTINCT hour FROM ${table} WHERE ${time}${filter}`,
      )
      .all(...parameters.values)
      .map(({ hour }) => hour);
  };
  const first = from - (from % hourMs);
  if (query.keyId !== undefined) return new Set(hoursIn("usage_by_hour", first));
  return new Set([
    ...hoursIn("usage_without_key", first),
    ...hoursIn("usage_by_hour", Math.max(first, finishedUntil(db))),
  ]);
}

function overlaps(hours: ReadonlySet<number>, from: number, to: number): boolean {
  for (let hour = from - (from % hourMs); hour <= to; hour += hourMs) {
    if (hours.has(hour)) return true;
  }
  return false;
}
