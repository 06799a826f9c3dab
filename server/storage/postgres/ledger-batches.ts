/**
 * The batches of ledger rows that are not rolled up yet. An append adds a batch, and the roll-up deletes it in the
 * transaction that adds its rows to the sums. So in every snapshot of the database a row is counted once: in the sums,
 * or in a batch. A transaction that commits late is not missed, because its batch is seen when it has committed.
 */
import { hourMs } from "../../lib/timers.ts";
import { latencyBoundsMs } from "../ports/ledger-queries.ts";
import type { Parameters, Queries } from "../sql/database.ts";
import { allTagsPrefix } from "../sql/labels.ts";
import {
  groupColumns,
  latencyColumns,
  refusedCondition,
  sumColumns,
} from "../sql/ledger-columns.ts";
import type { PostgresDatabase } from "./database.ts";

export interface Batches {
  /** An array of PostgreSQL, such as `{1,2}`. */
  readonly ids: string;
  /** At least as many as these batches have. */
  readonly rows: number;
  /** The times of the first and the last row, Unix milliseconds. With them, PostgreSQL plans for few partitions. */
  readonly first: number;
  readonly last: number;
}

/** The oldest batches, up to the one that reaches `maxRows`. Undefined if there are none. */
export async function readBatches(
  db: Queries,
  maxRows = Number.MAX_SAFE_INTEGER,
): Promise<Batches | undefined> {
  const { rows } = await db.query<Batches>(
    `SELECT array_agg(id)::text AS ids, sum(rows)::float8 AS rows,
       min(first_at)::float8 AS first, max(last_at)::float8 AS last
     FROM (SELECT *, sum(rows) OVER (ORDER BY id) - rows AS before FROM vexel.ledger_batches) AS oldest
     WHERE before < $1 HAVING count(*) > 0`,
    [maxRows],
  );
  return rows[0];
}

/** Reads sums and the batches that the sums lack in one snapshot of the database. */
export const readSnapshot = <T>(
  db: PostgresDatabase,
  read: (db: Queries, batches: Batches | undefined) => Promise<T>,
): Promise<T> =>
  db.transaction(async (queries) => {
    await queries.query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY");
    await tunePlanner(queries);
    return read(queries, await readBatches(queries));
  });

/**
 * For the statements of a transaction. PostgreSQL underestimates the rows of batches, and would sort them to group
 * them; and compiling a statement over many partitions takes longer than running it.
 */
export async function tunePlanner(db: Queries): Promise<void> {
  await db.query(
    `SELECT set_config('enable_sort', 'off', true), set_config('work_mem', '64MB', true),
       set_config('jit', 'off', true)`,
  );
}

/**
 * The rows of batches, for FROM. OFFSET makes PostgreSQL look up each batch in the index: it has no statistics of a new
 * partition, and would read all of it.
 */
export function rowsOf({ ids, first, last }: Batches, parameters: Parameters): string {
  const [from, to] = [parameters.add(first), parameters.add(last)];
  return `(
    SELECT stored.* FROM unnest(${parameters.add(ids)}::text::bigint[]) AS pending (id),
    LATERAL (
      SELECT * FROM vexel.ledger WHERE batch = pending.id AND at >= ${from} AND at <= ${to} OFFSET 0
    ) AS stored
  ) AS new`;
}

const sums: Readonly<Record<string, string>> = {
  requests: "count(*)",
  errors: "count(error)",
  refused: `count(*) FILTER (WHERE ${refusedCondition})`,
  unmetered: "count(*) FILTER (WHERE error IS NULL AND input_tokens IS NULL)",
  unpriced: "count(*) FILTER (WHERE error IS NULL AND cost IS NULL AND estimated_cost IS NULL)",
  cost: "coalesce(sum(cost), 0)",
  estimated_cost: "coalesce(sum(estimated_cost), 0)",
  latency_ms: "sum(latency_ms)",
  ...Object.fromEntries(
    latencyColumns.map((name, at) => {
      const above = at === 0 ? "true" : `latency_ms > ${latencyBoundsMs[at - 1]}`;
      const bound = latencyBoundsMs[at];
      const below = bound === undefined ? "true" : `latency_ms <= ${bound}`;
      return [name, `count(*) FILTER (WHERE ${above} AND ${below})`];
    }),
  ),
};

/**
 * A row for each tag of a ledger row, one for all of its tags, one for its end user, and one for the status of a failed
 * request.
 */
const labels = `LATERAL (
  SELECT 'tag=' || tag AS label FROM unnest(string_to_array(tags, ',')) AS tag
  UNION SELECT '${allTagsPrefix}' || tags WHERE tags IS NOT NULL
  UNION SELECT 'endUser=' || end_user WHERE end_user IS NOT NULL
  UNION SELECT 'failedStatus=' || status WHERE error IS NOT NULL
) AS labels`;

/** The other sums have the names of their columns. */
const sumOf = (name: string): string => sums[name] ?? `coalesce(sum(${name}), 0)::bigint`;

/**
 * The usage of batches by hour and by `columns`, with the columns of `usage_by_hour`. `filter`: a condition on the
 * rows, which begins with AND.
 */
export const usageOf = (
  batches: Batches,
  parameters: Parameters,
  { columns = groupColumns, filter = "" }: { columns?: readonly string[]; filter?: string } = {},
): string => {
  const groups = columns.map((name) => `coalesce(${name}, '')`);
  const selected = [
    `at - at % ${hourMs} AS hour`,
    ...columns.map((name, at) => `${groups[at]} AS ${name}`),
    "min(request_id) AS first_id",
    "max(request_id) AS last_id",
    ...sumColumns.map((name) => `${sumOf(name)} AS ${name}`),
  ];
  const source = [rowsOf(batches, parameters), ...(columns.includes("label") ? [labels] : [])];
  return `SELECT ${selected.join(", ")} FROM ${source.join(", ")} WHERE true${filter}
    GROUP BY ${[`at - at % ${hourMs}`, ...groups].join(", ")}`;
};
