/**
 * Appends a batch of ledger rows, and adds what the rows that were really inserted are charged to the sums of their
 * owners, in one transaction. A row that exists is ignored, and keeps its batch, so it is counted no second time. The
 * usage of the batch is counted later (`roll-up-ledger.ts`).
 */
import { rowNames, rowTypes } from "../ledger-row-values.ts";
import type { LedgerRow } from "../ports/ledger-row.ts";
import type { SpendKey, SpentSum } from "../ports/ledger-store.ts";
import type { Queries, SqlInteger } from "../sql/database.ts";
import { ledgerColumns } from "../sql/ledger-columns.ts";
import { SpendTally, spendKey } from "../sql/spend-tally.ts";
import { jsonParameter, postgresText } from "./json-parameter.ts";

const fields = rowNames.map((name) => `"${name}" ${rowTypes[name]}`).join(", ");

/**
 * The parameters: a JSON array of rows, the first and the last time of the rows, and their number. PostgreSQL reads a
 * row from `json` in 20 µs, from `jsonb` in 29 µs, and from a parameter for each value in 46 µs.
 */
const insertion = `
  WITH batch AS (
    INSERT INTO vexel.ledger_batches (first_at, last_at, rows) VALUES ($2, $3, $4) RETURNING id
  )
  INSERT INTO vexel.ledger (${ledgerColumns.join(", ")}, batch)
  SELECT ${rowNames.map((name) => `"${name}"`).join(", ")}, batch.id
  FROM batch, json_to_recordset($1::text::json) AS given (${fields})
  ON CONFLICT (request_id, at) DO NOTHING
  RETURNING request_id AS id`;

/** In the order of the primary key, so that writers with several owners in common wait for each other in one order. */
const addition = `
  INSERT INTO vexel.spent (scope, id, period, nanos)
  SELECT scope, id, period, nanos
  FROM json_to_recordset($1::text::json) AS given (scope text, id text, period text, nanos bigint)
  ORDER BY scope, id, period COLLATE "C"
  ON CONFLICT (scope, id, period) DO UPDATE SET nanos = spent.nanos + excluded.nanos
  RETURNING scope, id, period, nanos`;

/** Runs in a transaction. Returns the new sums of the owners of all these rows. */
export async function appendLedgerRows(
  db: Queries,
  rows: readonly LedgerRow[],
): Promise<readonly SpentSum[]> {
  const times = rows.map(({ at }) => at);
  const values = [jsonParameter(rows), Math.min(...times), Math.max(...times), rows.length];
  const inserted = await db.query<{ id: string }>(insertion, values);
  const isNew = new Set(inserted.rows.map(({ id }) => id));
  const tally = new SpendTally();
  for (const row of rows) tally.add(row, isNew.has(row.requestId) ? undefined : 0);
  const charged = [...tally.sums];
  if (charged.length === 0) return [];
  const sums = await db.query<SpendKey & { nanos: SqlInteger }>(addition, [jsonParameter(charged)]);
  const stored = new Map(sums.rows.map((sum) => [spendKey(sum), Number(sum.nanos)]));
  return charged.map((sum) => ({
    ...sum,
    nanos: stored.get(spendKey({ ...sum, id: postgresText(sum.id) })) ?? 0,
  }));
}
