/** Ledger queries in PostgreSQL: the rows and the usage of all replicas. */
import type { LedgerQueries } from "../ports/ledger-queries.ts";
import type { PostgresDatabase } from "./database.ts";
import { readSnapshot } from "./ledger-batches.ts";
import { listRows } from "./list-ledger-rows.ts";
import { readUsage } from "./read-usage.ts";

/** `clock`: milliseconds, monotonic. */
export const createPostgresLedgerQueries = (
  db: PostgresDatabase,
  clock: () => number,
): LedgerQueries => ({
  list: (query) => listRows(db, query, clock),
  usage: (query) => readSnapshot(db, (queries, batches) => readUsage(queries, query, batches)),
  close: () => db.close(),
});
