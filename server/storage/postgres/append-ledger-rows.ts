/**
 * The SQL statement that appends a batch of ledger rows. A row that exists is ignored, and keeps its batch, so it is
 * counted no second time. The statement changes no row, so appends of several replicas do not wait for each other: the
 * batch is counted later (`roll-up-ledger.ts`).
 */
import { rowNames, rowTypes } from "../ledger-row-values.ts";
import { ledgerColumns } from "../sql/ledger-columns.ts";

const fields = rowNames.map((name) => `"${name}" ${rowTypes[name]}`).join(", ");

/**
 * The parameters: a JSON array of rows, the first and the last time of the rows, and their number. PostgreSQL reads a
 * row from `json` in 20 µs, from `jsonb` in 29 µs, and from a parameter for each value in 46 µs.
 */
export const appendStatement = `
  WITH batch AS (
    INSERT INTO vexel.ledger_batches (first_at, last_at, rows) VALUES ($2, $3, $4) RETURNING id
  )
  INSERT INTO vexel.ledger (${ledgerColumns.join(", ")}, batch)
  SELECT ${rowNames.map((name) => `"${name}"`).join(", ")}, batch.id
  FROM batch, json_to_recordset($1::text::json) AS given (${fields})
  ON CONFLICT (request_id, at) DO NOTHING`;
