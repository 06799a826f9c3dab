/**
 * Lists ledger rows. The roll-ups by hour are the index: they have the hours with matching rows, and the first and last
 * request id of these rows. The rows that are not rolled up yet are summed like them.
 */
import { hourMs } from "../../lib/timers.ts";
import { rowNames, rowTypes } from "../ledger-row-values.ts";
import type { LedgerListQuery, LedgerPage } from "../ports/ledger-queries.ts";
import type { LedgerRow } from "../ports/ledger-row.ts";
import { Parameters, type Queries } from "../sql/database.ts";
import { labelFilterOf, labelKindOf } from "../sql/labels.ts";
import { columnOf } from "../sql/ledger-columns.ts";
import { filterOf, parseCursor, rowFilterOf } from "../sql/ledger-filter.ts";
import { rollUpsFor } from "../sql/roll-ups.ts";
import type { PostgresDatabase } from "./database.ts";
import { type Batches, readSnapshot, usageOf } from "./ledger-batches.ts";
import { listDays } from "./ledger-partitions.ts";

/** The longest search for one page, after which it has a cursor. A statement that is running is not interrupted. */
const listMs = 1500;
/** The most rows that one statement reads, so that none takes long. An hour with more rows is read in parts. */
const maxRowsRead = 100_000;

/** The rows of an hour that may match, or those of them that no earlier statement has read. */
interface HourOfRows {
  readonly hour: number;
  readonly first: string;
  readonly last: string;
  /** The rows that a search of the hour reads. */
  readonly rows: number;
  /** Exclusive. If absent, `last` is the bound. */
  readonly before?: string | undefined;
}

/** Texts stay texts, and BIGINT is read as a number. */
const listedColumns = rowNames
  .map((name) => {
    const cast = rowTypes[name] === "text" ? "" : "::float8";
    return `${columnOf(name)}${cast} AS "${name}"`;
  })
  .join(", ");

/** Hours that are searched in the first statement. Each further statement searches four times as many. */
const firstHours = 2;
const maxHours = 512;

/** `clock`: milliseconds, monotonic. `maxRows`: of one statement. */
export async function listRows(
  db: PostgresDatabase,
  query: LedgerListQuery,
  clock: () => number,
  maxRows = maxRowsRead,
): Promise<LedgerPage> {
  const until = clock() + listMs;
  const { limit } = query;
  const cursor = parseCursor(query.cursor);
  const hours = await readSnapshot(db, (queries, batches) =>
    hoursToRead(queries, query, batches, cursor?.at),
  );
  // The latest is the last one.
  const waiting = hours
    .map((each) => (each.hour === cursor?.at ? { ...each, before: cursor.requestId } : each))
    .reverse();
  const entries: LedgerRow[] = [];
  for (let count = firstHours; waiting.length > 0; count = Math.min(count * 4, maxHours)) {
    const { searched, end } = await takePart(db, waiting, count, maxRows);
    // One more than the limit shows whether there is another page.
    entries.push(...(await rowsOfHours(db, query, searched, limit + 1 - entries.length)));
    if (entries.length > limit) break;
    if (waiting.length > 0 && clock() >= until) return { entries, ...end };
  }
  const page = entries.slice(0, limit);
  const end = page.at(-1);
  return entries.length > limit && end
    ? { entries: page, next: `${end.at - (end.at % hourMs)}.${end.requestId}` }
    : { entries: page };
}

/** The next hours: up to `count`, whose rows are at most `maxRows` together. At least one. */
function takeHours(waiting: HourOfRows[], count: number, maxRows: number): HourOfRows[] {
  const taken: HourOfRows[] = [];
  let rows = 0;
  for (let next = waiting.at(-1); next && taken.length < count; next = waiting.at(-1)) {
    rows += next.rows;
    if (taken.length > 0 && rows > maxRows) break;
    taken.push(next);
    waiting.pop();
  }
  return taken;
}

/** The hours that the next statement searches, or a part of one hour; and where a page that ends after them ends. */
async function takePart(db: Queries, waiting: HourOfRows[], count: number, maxRows: number) {
  const searched = takeHours(waiting, count, maxRows);
  const [only] = searched;
  const rest = only && only.rows > maxRows ? await split(db, only, maxRows) : undefined;
  if (only && rest) {
    waiting.push(rest);
    const end = { next: `${rest.hour}.${rest.before}`, scannedUntil: rest.at };
    return { searched: [{ ...only, first: rest.before }], end };
  }
  const { hour = 0 } = searched.at(-1) ?? {};
  return { searched, end: { next: `${hour - 1}.end`, scannedUntil: hour } };
}

/** The part of an hour that follows its latest `maxRows` rows, and the time of the last of these. */
async function split(db: Queries, hour: HourOfRows, maxRows: number) {
  const { rows } = await db.query<{ requestId: string; at: number }>(
    `SELECT request_id AS "requestId", at::float8 AS at FROM vexel.ledger
     WHERE request_id BETWEEN $1 AND $2 AND ($3::text IS NULL OR request_id < $3)
       AND at >= $4 AND at < $5
     ORDER BY request_id DESC LIMIT 1 OFFSET $6`,
    [hour.first, hour.last, hour.before ?? null, hour.hour, hour.hour + hourMs, maxRows - 1],
  );
  const [end] = rows;
  return end && { ...hour, before: end.requestId, at: end.at, rows: hour.rows - maxRows };
}

/**
 * The hours with rows that may match, the latest first, with the number of all rows of the hour: a search reads them.
 */
async function hoursToRead(
  db: Queries,
  query: LedgerListQuery,
  batches: Batches | undefined,
  latestHour: number | undefined,
): Promise<readonly HourOfRows[]> {
  const hours = await hoursOfRows(db, query, batches, latestHour);
  if (query.requestId !== undefined || hours.length === 0) return hours;
  const { limit, from, to } = query;
  const all = { limit, ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
  const rows = new Map(
    (await hoursOfRows(db, all, batches, latestHour)).map((each) => [each.hour, each.rows]),
  );
  return hours.map((each) => ({ ...each, rows: rows.get(each.hour) ?? each.rows }));
}

/** `rows`: those of the groups that match. */
async function hoursOfRows(
  db: Queries,
  query: LedgerListQuery,
  batches: Batches | undefined,
  latestHour: number | undefined,
): Promise<readonly HourOfRows[]> {
  const { requestId, failed = query.error !== undefined } = query;
  // Usage outlives the rows: hours before the oldest day have none.
  const [oldest] = await listDays(db);
  const from = Math.max(query.from ?? 0, oldest?.from ?? 0);
  const parameters = new Parameters();
  const conditions = [
    `hour >= ${parameters.add(from - (from % hourMs))}`,
    ...(query.to === undefined ? [] : [`hour < ${parameters.add(query.to)}`]),
    ...(latestHour === undefined ? [] : [`hour <= ${parameters.add(latestHour)}`]),
    ...(failed ? ["errors > 0"] : []),
  ];
  if (requestId !== undefined) {
    const placeholder = parameters.add(requestId);
    conditions.push(`first_id <= ${placeholder}`, `last_id >= ${placeholder}`);
  }
  const condition = conditions.join(" AND ");
  const kind = labelKindOf(query);
  const { table } = rollUpsFor(query).hour;
  const labels = labelFilterOf(query, kind, parameters, true);
  const select = `SELECT hour, first_id, last_id, requests FROM`;
  const parts = [
    `${select} vexel.${table} WHERE ${condition}${labels}${filterOf(query, "= ''", parameters)}`,
  ];
  if (batches) {
    const ofRows = { columns: [], filter: filterOf(query, "IS NULL", parameters) };
    parts.push(`${select} (${usageOf(batches, parameters, ofRows)}) AS pending WHERE ${condition}`);
  }
  const { rows } = await db.query<HourOfRows>(
    `SELECT hour::float8 AS hour, min(first_id) AS first, max(last_id) AS last,
       sum(requests)::float8 AS rows
     FROM (${parts.join(" UNION ALL ")}) AS usage GROUP BY 1 ORDER BY 1 DESC`,
    parameters.values,
  );
  return rows;
}

/** At most `limit` rows, the latest first, by hour and request id. */
async function rowsOfHours(
  db: Queries,
  query: LedgerListQuery,
  hours: readonly HourOfRows[],
  limit: number,
): Promise<readonly LedgerRow[]> {
  const { from = 0, to = Number.MAX_SAFE_INTEGER } = query;
  const ranges = hours.map(({ hour, first, last, before = null }) => ({
    hour,
    first,
    last,
    from: Math.max(hour, from),
    to: Math.min(hour + hourMs, to),
    before,
  }));
  const parameters = new Parameters();
  const [json, most] = [parameters.add(JSON.stringify(ranges)), parameters.add(limit)];
  // The hours are in the order of time. With their bounds, PostgreSQL plans for few partitions.
  const [first, end] = [ranges.at(-1)?.from ?? 0, ranges[0]?.to ?? 0];
  const bounds = `at >= ${parameters.add(first)} AND at < ${parameters.add(end)}`;
  const filter = filterOf(query, "IS NULL", parameters) + rowFilterOf(query, parameters);
  const { rows } = await db.query<LedgerRow>(
    `SELECT found.* FROM jsonb_to_recordset(${json}::text::jsonb)
       AS range (hour bigint, first text, last text, "from" bigint, "to" bigint, before text),
     LATERAL (
       SELECT ${listedColumns} FROM vexel.ledger
       WHERE request_id BETWEEN range.first AND range.last
         AND (range.before IS NULL OR request_id < range.before)
         AND at >= range."from" AND at < range."to" AND ${bounds}${filter}
       ORDER BY request_id DESC LIMIT ${most}
     ) AS found
     ORDER BY range.hour DESC, found."requestId" DESC LIMIT ${most}`,
    parameters.values,
  );
  return rows;
}
