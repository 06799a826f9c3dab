/** Revision counters: one number per kind of data that grows with every change, in the transaction of the change. */
import type { Database } from "bun:sqlite";

type CounterName = "keys" | "config";

/** Inside a transaction that has the write lock: two writers never get the same number. */
export function nextRevision(db: Database, name: CounterName): number {
  const row = db
    .query<{ value: number }, [string]>(
      "UPDATE revisions SET value = value + 1 WHERE name = ?1 RETURNING value",
    )
    .get(name);
  if (!row) throw new Error(`vexel.db has no revision counter named ${name}`);
  return row.value;
}

export const readRevision = (db: Database, name: CounterName): number =>
  db.query<{ value: number }, [string]>("SELECT value FROM revisions WHERE name = ?1").get(name)
    ?.value ?? 0;
