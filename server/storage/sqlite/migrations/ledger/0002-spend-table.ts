/** The spend table, filled from the ledger rows of versions before budgets. */
import type { Migration } from "../../migrate.ts";

const schema = `CREATE TABLE spent (
  scope   TEXT NOT NULL,
  id      TEXT NOT NULL,
  period  TEXT NOT NULL,
  dollars REAL NOT NULL,
  PRIMARY KEY (scope, id, period)
) WITHOUT ROWID`;

const dayOfRow = "strftime('%Y-%m-%d', at / 1000, 'unixepoch')";
const monthOfRow = "strftime('%Y-%m', at / 1000, 'unixepoch')";

export const spendTable: Migration = {
  name: "0002-spend-table",
  up: (db) => {
    // Versions without numbered migrations may have created it.
    const existing = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'spent'";
    if (db.query(existing).get() !== null) return;
    db.run(schema);
    for (const period of ["'total'", monthOfRow, dayOfRow]) {
      db.run(`INSERT INTO spent
        SELECT 'key', key_id, ${period}, sum(cost) FROM ledger WHERE cost > 0 GROUP BY 2, 3`);
    }
  },
};
