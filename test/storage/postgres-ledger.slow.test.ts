/** The spend table of PostgreSQL: expired sums are found by an index, and changed sums are read by every replica. */
import { expect } from "bun:test";
import { PostgresDatabase } from "../../server/storage/postgres/database.ts";
import { PostgresLedgerStore } from "../../server/storage/postgres/ledger-store.ts";
import { SharedSpend } from "../../server/storage/postgres/shared-spend.ts";
import type { SqlValue } from "../../server/storage/sql/database.ts";
import { closeAfterEach } from "../clean-up.ts";
import { sharedPostgres, testWithPostgres } from "./postgres-server.ts";

const closing = closeAfterEach();

/** Keeps the plan of each statement that has values. */
class ExplainedDatabase extends PostgresDatabase {
  readonly plans: string[] = [];

  override async query<Row>(text: string, values: readonly SqlValue[] = []) {
    if (values.length > 0) {
      const { rows } = await super.query<object>(`EXPLAIN ${text}`, values);
      this.plans.push(rows.flatMap((row) => Object.values(row)).join("\n"));
    }
    return super.query<Row>(text, values);
  }
}

/** A spend table with the sums of 500 keys on 41 days from 2026-08-01 on, and in that month. */
async function openSpendTable(): Promise<ExplainedDatabase> {
  const url = await (await sharedPostgres()).createDatabase();
  const db = new ExplainedDatabase({ url, now: () => 1 });
  closing(db);
  await db.query(`INSERT INTO vexel.spent
    SELECT 'key', 'key_' || key, to_char(date '2026-08-01' + day, 'YYYY-MM-DD'), 1, 0
    FROM generate_series(1, 500) AS key, generate_series(0, 40) AS day`);
  await db.query(`INSERT INTO vexel.spent
    SELECT 'key', 'key_' || key, '2026-08', 41, 0 FROM generate_series(1, 500) AS key`);
  return db;
}

testWithPostgres("daily sums that expired are found by an index, and months are kept", async () => {
  const db = await openSpendTable();
  await db.query("ANALYZE vexel.spent");
  // Daily sums are kept for 62 days more than rows.
  const before = Date.UTC(2026, 7, 3) + 62 * 86_400_000;
  const store = new PostgresLedgerStore(db);
  expect(await store.prune(before, 600)).toBe(true);
  expect(await store.prune(before, 600)).toBe(false);
  const plans = db.plans.filter((plan) => plan.startsWith("Delete on spent"));
  expect(plans).toHaveLength(2);
  for (const plan of plans) expect(plan).toContain("Index Scan using spent_by_day");
  const { rows } = await db.query(
    `SELECT min(period) FILTER (WHERE period LIKE '____-__-__') AS first,
       count(*) FILTER (WHERE period LIKE '____-__-__')::int AS days,
       count(*) FILTER (WHERE period = '2026-08')::int AS months FROM vexel.spent`,
  );
  expect(rows).toEqual([{ first: "2026-08-03", days: 500 * 39, months: 500 }]);
});

testWithPostgres("sums that changed since the last refresh are read by the next one", async () => {
  const db = await openSpendTable();
  const spend = new SharedSpend(db, () => Date.UTC(2026, 7, 20));
  const [owner, day] = [{ scope: "key", id: "key_7" } as const, "2026-08-20"];
  const spendMore = (dollars: number, at: number) =>
    db.query(`UPDATE vexel.spent SET dollars = ${dollars}, updated_at = ${at}
      WHERE id = '${owner.id}' AND period = '${day}'`);
  await spendMore(2, 1_000_000);
  expect(spend.read(owner, day)).toBeUndefined();
  await spend.refresh();
  expect(spend.read(owner, day)).toBe(2);
  await spendMore(3, 1_000_001);
  await spend.refresh();
  expect(spend.read(owner, day)).toBe(3);
});
