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

/** The longest search for one page. */
const listMs = 3000;

interface HourOfRows {
  readonly hour: number;
  readonly first: string;
  readonly last: string;
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

/** `clock`: milliseconds, monotonic. */
export async function listRows(
  db: PostgresDatabase,
  query: LedgerListQuery,
  clock: () => number,
): Promise<LedgerPage> {
  const until = clock() + listMs;
  const { limit } = query;
  const cursor = parseCursor(query.cursor);
  const hours = await readSnapshot(db, (queries, batches) =>
    hoursOfRows(queries, query, batches, cursor?.at),
  );
  const entries: LedgerRow[] = [];
  for (let at = 0, count = firstHours; at < hours.length; count = Math.min(count * 4, maxHours)) {
    const searched = hours.slice(at, at + count);
    at += searched.length;
    // One more than the limit shows whether there is another page.
    entries.push(...(await rowsOfHours(db, query, searched, limit + 1 - entries.length)));
    if (entries.length > limit) break;
    const last = searched.at(-1);
    if (last && at < hours.length && clock() >= until) {
      return { entries, next: `${last.hour - 1}.end`, scannedUntil: last.hour };
    }
  }
  const page = entries.slice(0, limit);
  const end = page.at(-1);
  return entries.length > limit && end
    ? { entries: page, next: `${end.at - (end.at % hourMs)}.${end.requestId}` }
    : { entries: page };
}

/** The hours with rows, the latest first. */
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
  const select = `SELECT hour, first_id, last_id FROM`;
  const parts = [
    `${select} vexel.${table} WHERE ${condition}${labels}${filterOf(query, "= ''", parameters)}`,
  ];
  if (batches) {
    const ofRows = { columns: [], filter: filterOf(query, "IS NULL", parameters) };
    parts.push(`${select} (${usageOf(batches, parameters, ofRows)}) AS pending WHERE ${condition}`);
  }
  const { rows } = await db.query<HourOfRows>(
    `SELECT hour::float8 AS hour, min(first_id) AS first, max(last_id) AS last
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
  const cursor = parseCursor(query.cursor);
  const { from = 0, to = Number.MAX_SAFE_INTEGER } = query;
  const ranges = hours.map(({ hour, first, last }) => ({
    hour,
    first,
    last,
    from: Math.max(hour, from),
    to: Math.min(hour + hourMs, to),
    before: hour === cursor?.at ? cursor.requestId : null,
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
