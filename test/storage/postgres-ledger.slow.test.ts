/** Retention in PostgreSQL: expired sums are found by an index, not by a scan of all sums. */
import { expect } from "bun:test";
import { PostgresDatabase } from "../../server/storage/postgres/database.ts";
import { PostgresLedgerStore } from "../../server/storage/postgres/ledger-store.ts";
import type { SqlValue } from "../../server/storage/sql/database.ts";
import { closeAfterEach } from "../clean-up.ts";
import { sharedPostgres, testWithPostgres } from "./postgres-server.ts";

const closing = closeAfterEach();

/** Keeps the plan of each statement that deletes sums. */
class ExplainedDatabase extends PostgresDatabase {
  readonly plans: string[] = [];

  override async query<Row>(text: string, values: readonly SqlValue[] = []) {
    if (text.startsWith("DELETE FROM vexel.spent")) {
      const { rows } = await super.query<object>(`EXPLAIN ${text}`, values);
      this.plans.push(rows.flatMap((row) => Object.values(row)).join("\n"));
    }
    return super.query<Row>(text, values);
  }
}

testWithPostgres("daily sums that expired are found by an index, and months are kept", async () => {
  const url = await (await sharedPostgres()).createDatabase();
  const db = new ExplainedDatabase({ url, now: () => 1 });
  closing(db);
  await db.query(`INSERT INTO vexel.spent
    SELECT 'key', 'key_' || key, to_char(date '2026-08-01' + day, 'YYYY-MM-DD'), 1, 0
    FROM generate_series(1, 500) AS key, generate_series(0, 40) AS day`);
  await db.query(
    "INSERT INTO vexel.spent SELECT scope, id, '2026-08', 1, 0 FROM vexel.spent WHERE period = '2026-08-01'",
  );
  await db.query("ANALYZE vexel.spent");
  // Daily sums are kept for 62 days more than rows.
  const before = Date.UTC(2026, 7, 3) + 62 * 86_400_000;
  const store = new PostgresLedgerStore(db);
  expect(await store.prune(before, 600)).toBe(true);
  expect(await store.prune(before, 600)).toBe(false);
  expect(db.plans).toHaveLength(2);
  for (const plan of db.plans) expect(plan).toContain("Index Scan using spent_by_day");
  const { rows } = await db.query<{ first: string; days: number; months: number }>(
    `SELECT min(period) FILTER (WHERE period LIKE '____-__-__') AS first,
       count(*) FILTER (WHERE period LIKE '____-__-__')::int AS days,
       count(*) FILTER (WHERE period = '2026-08')::int AS months FROM vexel.spent`,
  );
  expect(rows).toEqual([{ first: "2026-08-03", days: 500 * 39, months: 500 }]);
});
