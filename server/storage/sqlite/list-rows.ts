/**
 * Lists ledger rows, the latest first. The roll-ups by hour have the hours with a key, project, model, target or label,
 * and an index has the failures. A page has a time limit and returns a cursor to the point that it reached. Runs on a
 * read-only connection of its own.
 */
import type { Database } from "bun:sqlite";
import { hourMs } from "../../lib/timers.ts";
import {
  type LedgerListQuery,
  type LedgerPage,
  ledgerDimensions,
} from "../ports/ledger-queries.ts";
import type { LedgerRow } from "../ports/ledger-row.ts";
import { Parameters, type SqlValue } from "../sql/database.ts";
import { labelFilterOf, labelKindOf } from "../sql/labels.ts";
import { listedColumns } from "../sql/ledger-columns.ts";
import { filterOf, parseCursor, rowFilterOf } from "../sql/ledger-filter.ts";
import { rollUpsFor } from "../sql/roll-ups.ts";
import type { TimeRange } from "../sql/usage-range.ts";
import { daysOf, periodFilterOf } from "./usage-table.ts";

interface ListClock {
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  /** The time limit of one page. */
  readonly pageMs: number;
}

/** The clock is not read for every row. */
export const rowsPerClockRead = 256;

/** A row that is examined. */
interface Candidate {
  readonly at: number;
  /** Null if the row does not match. */
  readonly requestId: string | null;
}

export function listRows(
  db: Database,
  query: LedgerListQuery,
  { clock, pageMs }: ListClock,
): LedgerPage {
  const { limit, requestId } = query;
  if (requestId !== undefined) return { entries: rowsById(db, query) };
  const deadline = clock() + pageMs;
  const entries: LedgerRow[] = [];
  let examined = 0;
  let lastAt = Number.POSITIVE_INFINITY;
  for (const candidate of candidatesOf(db, query)) {
    // All rows of a millisecond are on one page, so that the next page begins before it.
    if (++examined > rowsPerClockRead && candidate.at < lastAt) {
      if (clock() >= deadline) return { entries, next: `${lastAt}.`, scannedUntil: lastAt };
      examined = 0;
    }
    lastAt = candidate.at;
    if (candidate.requestId === null) continue;
    // One more than the limit shows that there is another page.
    if (entries.length === limit) return { entries, next: cursorOf(entries.at(-1)) };
    entries.push(...rowsById(db, { limit, requestId: candidate.requestId }));
  }
  return { entries };
}

function rowsById(db: Database, query: LedgerListQuery): LedgerRow[] {
  const { from = 0, to = Number.MAX_SAFE_INTEGER } = query;
  const parameters = new Parameters("?");
  const time = `at >= ${parameters.add(from)} AND at < ${parameters.add(to)}`;
  const filter = filterOf(query, "IS NULL", parameters) + rowFilterOf(query, parameters);
  return db
    .query<LedgerRow, SqlValue[]>(`SELECT ${listedColumns} FROM ledger WHERE ${time}${filter}`)
    .all(...parameters.values);
}

/** The condition of the index `ledger_by_failure`. */
const isFailure = "(error IS NOT NULL OR status >= 400)";

function* candidatesOf(db: Database, query: LedgerListQuery): Generator<Candidate> {
  const { failed, error, status } = query;
  // The first two parameters are different for each range.
  const parameters = new Parameters("?");
  const [from, to] = [0, 0].map((value) => parameters.add(value));
  const filter = filterOf(query, "IS NULL", parameters) + rowFilterOf(query, parameters);
  const cursor = parseCursor(query.cursor);
  const before = cursor
    ? ` AND (at < ${parameters.add(cursor.at)} OR request_id < ${parameters.add(cursor.requestId)})`
    : "";
  const onlyFailures = failed || error !== undefined || (status?.min ?? 0) >= 400;
  const statement = db.query<Candidate, SqlValue[]>(
    `SELECT at, CASE WHEN true${filter} THEN request_id END AS "requestId"
     FROM ledger ${onlyFailures ? "INDEXED BY ledger_by_failure" : ""}
     WHERE at >= ${from} AND at < ${to}${before}${onlyFailures ? ` AND ${isFailure}` : ""}
     ORDER BY at DESC, request_id DESC`,
  );
  const values = parameters.values.slice(2);
  for (const range of rangesOf(db, query, cursor?.at)) {
    yield* statement.iterate(range.from, range.to, ...values);
  }
}

/** The time ranges that may have a matching row, the latest first. `latest`: the time of the cursor. */
function* rangesOf(
  db: Database,
  query: LedgerListQuery,
  latest = Number.MAX_SAFE_INTEGER - 1,
): Generator<TimeRange> {
  const from = Math.max(query.from ?? 0, edgeOf(db, "min"));
  const to = Math.min(query.to ?? Number.MAX_SAFE_INTEGER, latest + 1, edgeOf(db, "max") + 1);
  const hasNames = ledgerDimensions.some((dimension) => query[dimension] !== undefined);
  if (!hasNames && !labelKindOf(query) && !query.projects && !query.keyIds) {
    yield { from, to };
    return;
  }
  for (const day of daysOf({ from: from - (from % hourMs), to })) {
    for (const hour of hoursOf(db, query, day)) {
      yield { from: Math.max(from, hour), to: Math.min(to, hour + hourMs) };
    }
  }
}

/** The time of the oldest or the latest row. Usage is kept longer than rows. */
const edgeOf = (db: Database, edge: "min" | "max"): number =>
  db.query<{ at: number | null }, []>(`SELECT ${edge}(at) AS at FROM ledger`).get()?.at ?? 0;

/** The hours of a day with a usage group that matches all names of the query, the latest first. */
function hoursOf(db: Database, query: LedgerListQuery, day: TimeRange): number[] {
  const kind = labelKindOf(query);
  const { hour: rollUp } = rollUpsFor(query);
  const parameters = new Parameters("?");
  const isSearch = kind !== undefined || query.keyId !== undefined;
  const period = periodFilterOf(rollUp, day, isSearch, parameters);
  const labels = labelFilterOf(query, kind, parameters, true);
  const filter = labels + filterOf(query, "= ''", parameters);
  return db
    .query<{ hour: number }, SqlValue[]>(
      `SELECT DISTINCT hour FROM ${rollUp.table} WHERE ${period}${filter} ORDER BY hour DESC`,
    )
    .all(...parameters.values)
    .map(({ hour }) => hour);
}

/** The next page begins after this row. */
const cursorOf = (row: LedgerRow | undefined): string => `${row?.at ?? 0}.${row?.requestId ?? ""}`;
