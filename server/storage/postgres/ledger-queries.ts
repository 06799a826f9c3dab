/** Ledger queries in PostgreSQL: the rows and the usage of all replicas. */
import type {
  LedgerListQuery,
  LedgerPage,
  LedgerQueries,
  UsageQuery,
  UsageReport,
} from "../ports/ledger-queries.ts";
import { Parameters } from "../sql/database.ts";
import { filterOf } from "../sql/ledger-filter.ts";
import { columnOf, hourMs, sumColumns, toGroup } from "../sql/usage-columns.ts";
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

export class PostgresLedgerQueries implements LedgerQueries {
  readonly #db: PostgresDatabase;
  readonly #clock: () => number;

  /** `clock`: milliseconds, monotonic. */
  constructor(db: PostgresDatabase, clock: () => number) {
    this.#db = db;
    this.#clock = clock;
  }

  list(query: LedgerListQuery): Promise<LedgerPage> {
    return listRows(this.#db, query, this.#clock);
  }

  async usage(query: UsageQuery): Promise<UsageReport> {
    const { from, to, interval, groupBy = [], limit } = query;
    const parameters = new Parameters();
    const [start, end] = [parameters.add(from - (from % hourMs)), parameters.add(to)];
    const columns = groupBy.map(columnOf);
    const sums = sumColumns.map((name) => `sum(${name})::float8 AS ${name}`);
    const filter = filterOf(query, "= ''", parameters);
    const { rows } = await this.#db.query<Record<string, number | string>>(
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

  close(): Promise<void> {
    return this.#db.close();
  }
}
