/** Revision counters: one number per kind of data that grows with every change, in the transaction of the change. */
import type { Queries, SqlInteger } from "./database.ts";

type CounterName = "keys" | "config";

/**
 * Inside a transaction: it locks the counter, so that revisions are committed in their order. The last of `count`
 * revisions.
 */
export async function nextRevision(db: Queries, name: CounterName, count = 1): Promise<number> {
  const { rows } = await db.query<{ value: SqlInteger }>(
    "UPDATE vexel.revisions SET value = value + $2 WHERE name = $1 RETURNING value",
    [name, count],
  );
  if (!rows[0]) throw new Error(`the database has no revision counter named ${name}`);
  return Number(rows[0].value);
}

export async function readRevision(db: Queries, name: CounterName): Promise<number> {
  const { rows } = await db.query<{ value: SqlInteger }>(
    "SELECT value FROM vexel.revisions WHERE name = $1",
    [name],
  );
  return Number(rows[0]?.value ?? 0);
}
