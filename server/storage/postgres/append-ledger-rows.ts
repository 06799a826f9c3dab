/**
 * The SQL statement that appends a batch of ledger rows, and adds what the rows that it really inserted are charged to
 * the sums of their owners. A row that exists is ignored, and keeps its batch, so it is counted no second time. It is
 * one statement and no transaction of several, which a lost connection could take apart. The usage of the batch is
 * counted later (`roll-up-ledger.ts`).
 */
import { rowNames, rowTypes } from "../ledger-row-values.ts";
import type { LedgerRow } from "../ports/ledger-row.ts";
import type { SpendKey, SpentSum } from "../ports/ledger-store.ts";
import type { Queries, SqlInteger } from "../sql/database.ts";
import { ledgerColumns } from "../sql/ledger-columns.ts";
import { chargedAlike, nanosOf, spendKey, spendKeysOf } from "../sql/spend-tally.ts";
import { jsonParameter, postgresText } from "./json-parameter.ts";

const names = rowNames.map((name) => `"${name}"`).join(", ");
const fields = rowNames.map((name) => `"${name}" ${rowTypes[name]}`).join(", ");

/**
 * The parameters: a JSON array of rows, the first and the last time of the rows, their number, and the sums that each
 * group of rows is added to. PostgreSQL reads a row from `json` in 20 µs, from `jsonb` in 29 µs, and from a parameter
 * for each value in 46 µs. The sums are changed in the order of their primary key, so that writers with several owners
 * in common wait for each other in one order.
 */
const statement = `
  WITH batch AS (
    INSERT INTO vexel.ledger_batches (first_at, last_at, rows) VALUES ($2, $3, $4) RETURNING id
  ), given AS MATERIALIZED (
    SELECT * FROM json_to_recordset($1::text::json) AS given (${fields}, "group" integer, nanos bigint)
  ), inserted AS (
    INSERT INTO vexel.ledger (${ledgerColumns.join(", ")}, batch)
    SELECT ${names}, batch.id FROM batch, given
    ON CONFLICT (request_id, at) DO NOTHING
    RETURNING request_id AS "requestId"
  ), charged AS (
    SELECT "group", sum(nanos) AS nanos FROM given JOIN inserted USING ("requestId") GROUP BY "group"
  )
  INSERT INTO vexel.spent (scope, id, period, nanos)
  SELECT scope, id, period, coalesce(sum(charged.nanos), 0)
  FROM json_to_recordset($5::text::json) AS sums ("group" integer, scope text, id text, period text)
    LEFT JOIN charged USING ("group")
  GROUP BY scope, id, period
  ORDER BY scope, id, period COLLATE "C"
  ON CONFLICT (scope, id, period) DO UPDATE SET nanos = spent.nanos + excluded.nanos
  RETURNING scope, id, period, nanos`;

/** Returns the new sums of the owners of all these rows. */
export async function appendLedgerRows(
  db: Queries,
  rows: readonly LedgerRow[],
): Promise<readonly SpentSum[]> {
  const groups = new Map<string, { readonly group: number; readonly keys: readonly SpendKey[] }>();
  const given = rows.map((row) => {
    const nanos = nanosOf(row);
    if (nanos === 0) return row;
    const name = chargedAlike(row);
    const found = groups.get(name) ?? { group: groups.size, keys: spendKeysOf(row) };
    groups.set(name, found);
    return { ...row, group: found.group, nanos };
  });
  const keys = groups
    .values()
    .flatMap(({ group, keys: own }) => own.map((key) => ({ ...key, group })))
    .toArray();
  const times = rows.map(({ at }) => at);
  const { rows: stored } = await db.query<SpendKey & { nanos: SqlInteger }>(statement, [
    jsonParameter(given),
    Math.min(...times),
    Math.max(...times),
    rows.length,
    jsonParameter(keys),
  ]);
  const nanos = new Map(stored.map((sum) => [spendKey(sum), Number(sum.nanos)]));
  // Under the names of this process: PostgreSQL cannot store every text.
  return keys.map(({ group: _, ...key }) => ({
    ...key,
    nanos: nanos.get(spendKey({ ...key, id: postgresText(key.id) })) ?? 0,
  }));
}
