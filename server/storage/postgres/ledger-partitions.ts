/**
 * The partitions of the ledger: one table per day (UTC), such as `ledger_2026_11_15`. A day is created before its first
 * row, and dropped as a whole when its retention is over.
 */

import { dayMs } from "../../lib/timers.ts";
import type { Queries } from "../sql/database.ts";
import type { PostgresDatabase } from "./database.ts";

/** Any constant: the key of the advisory lock of the partitions. */
const lockKey = 8_350_917_202;

interface Day {
  readonly table: string;
  /** Unix milliseconds. */
  readonly from: number;
  readonly to: number;
}

export function dayOf(at: number): Day {
  const from = at - (at % dayMs);
  const name = new Date(from).toISOString().slice(0, "2026-11-15".length).replaceAll("-", "_");
  return { table: `ledger_${name}`, from, to: from + dayMs };
}

/** The days that have a table, the oldest first. */
export async function listDays(db: Queries): Promise<Day[]> {
  const { rows } = await db.query<{ name: string }>(
    `SELECT child.relname::text AS name FROM pg_inherits
     JOIN pg_class child ON child.oid = inhrelid
     WHERE inhparent = 'vexel.ledger'::regclass ORDER BY 1`,
  );
  return rows.flatMap(({ name }) => {
    const [, year, month, day] = /^ledger_(\d{4})_(\d\d)_(\d\d)$/.exec(name) ?? [];
    return day ? [dayOf(Date.UTC(Number(year), Number(month) - 1, Number(day)))] : [];
  });
}

/**
 * In a transaction. The new table is attached, which does not block readers and writers of the other days, unlike
 * CREATE TABLE ... PARTITION OF.
 */
export async function createDay(db: Queries, { table, from, to }: Day): Promise<void> {
  await db.query("SELECT pg_advisory_xact_lock($1::bigint)", [lockKey]);
  if ((await listDays(db)).some((day) => day.table === table)) return;
  await db.query(
    `CREATE TABLE vexel.${table} (LIKE vexel.ledger INCLUDING DEFAULTS INCLUDING CONSTRAINTS)`,
  );
  await db.query(
    `ALTER TABLE vexel.ledger ATTACH PARTITION vexel.${table} FOR VALUES FROM (${from}) TO (${to})`,
  );
}

/** Drops a day if all its rows are rolled up. False: it has others, or does not exist any more. */
export function dropDay(db: PostgresDatabase, { table, to }: Day): Promise<boolean> {
  return db.transaction(async (transaction) => {
    await transaction.query("SELECT pg_advisory_xact_lock($1::bigint)", [lockKey]);
    if (!(await listDays(transaction)).some((day) => day.table === table)) return false;
    // It needs a short exclusive lock. Behind a long query it gives up instead of making all others wait.
    await transaction.query("SET LOCAL lock_timeout = '2s'");
    await transaction.query("LOCK TABLE ONLY vexel.ledger IN ACCESS EXCLUSIVE MODE");
    const { rows } = await transaction.query(
      "SELECT FROM vexel.ledger_batches WHERE first_at < $1 LIMIT 1",
      [to],
    );
    if (rows.length > 0) return false;
    await transaction.query(`DROP TABLE vexel.${table}`);
    return true;
  });
}
