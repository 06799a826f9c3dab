/**
 * The SQL statement that appends ledger rows: rows, spend table and roll-ups in one statement, so the three always
 * agree. A row that exists is ignored, and counted no second time.
 */
import { rowNames, rowTypes } from "../ledger-row-values.ts";
import { latencyBoundsMs } from "../ports/ledger-queries.ts";
import {
  groupColumns,
  hourMs,
  latencyColumns,
  ledgerColumns,
  sumColumns,
} from "../sql/ledger-columns.ts";

const fields = rowNames.map((name) => `"${name}" ${rowTypes[name]}`).join(", ");

const sums: Readonly<Record<string, string>> = {
  requests: "count(*)",
  errors: "count(error)",
  unmetered: "count(*) FILTER (WHERE error IS NULL AND input_tokens IS NULL)",
  unpriced: "count(*) FILTER (WHERE error IS NULL AND cost IS NULL)",
  ...Object.fromEntries(
    latencyColumns.map((name, at) => {
      const above = at === 0 ? "true" : `latency_ms > ${latencyBoundsMs[at - 1]}`;
      const bound = latencyBoundsMs[at];
      const below = bound === undefined ? "true" : `latency_ms <= ${bound}`;
      return [name, `count(*) FILTER (WHERE ${above} AND ${below})`];
    }),
  ),
};

/** The other sums have the names of their columns. */
const sumOf = (name: string): string => sums[name] ?? `coalesce(sum(${name}), 0)`;

const utc = "to_timestamp(at / 1000) AT TIME ZONE 'UTC'";
/** `firstKeyId` in SQL. */
const firstKey = "CASE WHEN key_id LIKE 'key\\_%' THEN split_part(key_id, '-', 1) ELSE key_id END";
const owners = `(VALUES ('key', ${firstKey}), ('project', nullif(project, ''))) AS owner (scope, id)`;
const periods = `(VALUES (to_char(${utc}, 'YYYY-MM-DD')), (to_char(${utc}, 'YYYY-MM')), ('total')) AS time (period)`;

/**
 * The parameter is a JSON array of rows. Groups are written in one order by all replicas: otherwise two statements could
 * wait for each other.
 */
export const appendStatement = `
  WITH new AS (
    INSERT INTO vexel.ledger (${ledgerColumns.join(", ")})
    SELECT ${rowNames.map((name) => `"${name}"`).join(", ")}
    FROM jsonb_to_recordset($1::text::jsonb) AS given (${fields})
    ON CONFLICT (request_id, at) DO NOTHING RETURNING *
  ), charged AS (
    INSERT INTO vexel.spent (scope, id, period, dollars)
    SELECT scope, id, period, sum(coalesce(cost, 0) + coalesce(estimated_cost, 0))
    FROM new, LATERAL ${owners}, LATERAL ${periods}
    WHERE id IS NOT NULL AND coalesce(cost, 0) + coalesce(estimated_cost, 0) > 0
    GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (scope, id, period) DO UPDATE
      SET dollars = spent.dollars + excluded.dollars
  ), counted AS (
    INSERT INTO vexel.usage_by_hour
      (hour, ${groupColumns.join(", ")}, first_id, last_id, ${sumColumns.join(", ")})
    SELECT at - at % ${hourMs}, key_id, coalesce(project, ''), coalesce(model, ''),
      coalesce(upstream, ''), coalesce(target_model, ''), min(request_id), max(request_id),
      ${sumColumns.map(sumOf).join(", ")}
    FROM new GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6
    ON CONFLICT (hour, ${groupColumns.join(", ")}) DO UPDATE SET
      first_id = least(usage_by_hour.first_id, excluded.first_id),
      last_id = greatest(usage_by_hour.last_id, excluded.last_id),
      ${sumColumns.map((name) => `${name} = usage_by_hour.${name} + excluded.${name}`).join(", ")}
  )
  SELECT count(*) AS count FROM new`;
