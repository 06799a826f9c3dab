/**
 * The partitions of the ledger: one table per month (UTC), such as `ledger_2026_11`. A month is created before its
 * first row, and dropped as a whole when its retention is over.
 */

import type { Queries } from "../sql/database.ts";
import type { PostgresDatabase } from "./database.ts";

/** Any constant: the key of the advisory lock of the partitions. */
const lockKey = 8_350_917_202;

interface Month {
  readonly table: string;
  /** Unix milliseconds. */
  readonly from: number;
  readonly to: number;
}

export function monthOf(at: number): Month {
  const date = new Date(at);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return {
    table: `ledger_${String(year).padStart(4, "0")}_${String(month + 1).padStart(2, "0")}`,
    from: Date.UTC(year, month),
    to: Date.UTC(year, month + 1),
  };
}

/** The months that have a table, the oldest first. */
export async function listMonths(db: Queries): Promise<Month[]> {
  const { rows } = await db.query<{ name: string }>(
    `SELECT child.relname::text AS name FROM pg_inherits
     JOIN pg_class child ON child.oid = inhrelid
     WHERE inhparent = 'vexel.ledger'::regclass ORDER BY 1`,
  );
  return rows.flatMap(({ name }) => {
    const [, year, month] = /^ledger_(\d+)_(\d\d)$/.exec(name) ?? [];
    return year && month ? [monthOf(Date.UTC(Number(year), Number(month) - 1))] : [];
  });
}

/**
 * In a transaction. The new table is attached, which does not block readers and writers of the other months, unlike
 * CREATE TABLE ... PARTITION OF.
 */
export async function createMonth(db: Queries, { table, from, to }: Month): Promise<void> {
  await db.query("SELECT pg_advisory_xact_lock($1::bigint)", [lockKey]);
  if ((await listMonths(db)).some((month) => month.table === table)) return;
  await db.query(
    `CREATE TABLE vexel.${table} (LIKE vexel.ledger INCLUDING DEFAULTS INCLUDING CONSTRAINTS)`,
  );
  await db.query(
    `ALTER TABLE vexel.ledger ATTACH PARTITION vexel.${table} FOR VALUES FROM (${from}) TO (${to})`,
  );
}

/** Drops the oldest month if it ended before `before`. False: none is that old. */
export function dropOldestMonth(db: PostgresDatabase, before: number): Promise<boolean> {
  return db.transaction(async (transaction) => {
    await transaction.query("SELECT pg_advisory_xact_lock($1::bigint)", [lockKey]);
    const [oldest] = await listMonths(transaction);
    if (!oldest || oldest.to > before) return false;
    // It needs a short exclusive lock. Behind a long query it gives up instead of making all others wait.
    await transaction.query("SET LOCAL lock_timeout = '2s'");
    await transaction.query(`DROP TABLE vexel.${oldest.table}`);
    return true;
  });
}
