/** Ledger queries in PostgreSQL: the rows and the usage of all replicas. */
import type { LedgerQueries, UsageQuery, UsageReport } from "../ports/ledger-queries.ts";
import { Parameters } from "../sql/database.ts";
import { columnOf, hourMs, sumColumns, toGroup } from "../sql/ledger-columns.ts";
import { filterOf } from "../sql/ledger-filter.ts";
import type { PostgresDatabase } from "./database.ts";
import { listRows } from "./list-ledger-rows.ts";

const utc = "to_timestamp(hour / 1000) AT TIME ZONE 'UTC'";

/** The start of the period (UTC) that an hour is in, Unix milliseconds. */
const periodOf: Readonly<Record<UsageQuery["interval"], string>> = {
  hour: "hour",
  day: "hour - hour % 86400000",
  month: `(extract(epoch FROM date_trunc('month', ${utc})) * 1000)::bigint`,
  total: "0",
};

/** `clock`: milliseconds, monotonic. */
export const createPostgresLedgerQueries = (
  db: PostgresDatabase,
  clock: () => number,
): LedgerQueries => ({
  list: (query) => listRows(db, query, clock),
  usage: (query) => readUsage(db, query),
  close: () => db.close(),
});

async function readUsage(db: PostgresDatabase, query: UsageQuery): Promise<UsageReport> {
  const { from, to, interval, groupBy = [], limit } = query;
  const parameters = new Parameters();
  const [start, end] = [parameters.add(from - (from % hourMs)), parameters.add(to)];
  const columns = groupBy.map(columnOf);
  const sums = sumColumns.map((name) => `sum(${name})::float8 AS ${name}`);
  const filter = filterOf(query, "= ''", parameters);
  const { rows } = await db.query<Record<string, number | string>>(
    `SELECT greatest(${periodOf[interval]}, ${start}::bigint)::float8 AS "from",
       ${[...columns, ...sums].join(", ")}
     FROM vexel.usage_by_hour WHERE hour >= ${start} AND hour < ${end}${filter}
     GROUP BY ${["1", ...columns].join(", ")}
     ORDER BY ${["1 DESC", "sum(requests) DESC", ...columns].join(", ")}
     LIMIT ${parameters.add(limit + 1)}`,
    parameters.values,
  );
  return {
    groups: rows.slice(0, limit).map((row) => toGroup(row, Number(row.from), groupBy)),
    hasMore: rows.length > limit,
  };
}
