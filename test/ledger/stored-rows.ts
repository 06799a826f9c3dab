/** Reads the rows and the sums of the ledger files of a data folder. */
import { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { BudgetOwner } from "../../contract/limits-and-budgets.ts";
import { toDollars } from "../../server/lib/nano-dollars.ts";
import { fromValues } from "../../server/storage/ledger-row-values.ts";
import type { LedgerRow } from "../../server/storage/ports/ledger-row.ts";
import { listedColumns } from "../../server/storage/sql/ledger-columns.ts";
import type { SqliteLedgerStore } from "../../server/storage/sqlite/ledger-store.ts";

/** The rows of `ledger.db`, by request id. */
export function rowsOf({ path }: Pick<SqliteLedgerStore, "path">): LedgerRow[] {
  using db = new Database(path, { readwrite: true, strict: true });
  db.run("PRAGMA busy_timeout = 5000");
  return db.query<LedgerRow, []>(`SELECT ${listedColumns} FROM ledger ORDER BY request_id`).all();
}

/** The rows of `ledger.db`, and those of `backlog.db`, which wait for the shared database. */
export function rowsIn(folder: string): LedgerRow[] {
  const [ledger, backlog] = [join(folder, "ledger.db"), join(folder, "backlog.db")];
  return [...(existsSync(ledger) ? rowsOf({ path: ledger }) : []), ...waitingRows(backlog)];
}

function waitingRows(path: string): LedgerRow[] {
  if (!existsSync(path)) return [];
  using db = new Database(path, { readwrite: true, strict: true });
  db.run("PRAGMA busy_timeout = 5000");
  return db
    .query<{ row: string }, []>("SELECT row FROM backlog ORDER BY request_id")
    .all()
    .map(({ row }) => fromValues(JSON.parse(row) as unknown[]));
}

/** US dollars. */
export const spentIn = (store: SqliteLedgerStore, owner: BudgetOwner, period: string): number =>
  toDollars(store.readSpent({ ...owner, period }));
