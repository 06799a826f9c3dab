/** The spend table of PostgreSQL: expired sums are found by an index, and changed sums are read by every replica. */
import { expect } from "bun:test";
import { PostgresDatabase } from "../../server/storage/postgres/database.ts";
import { PostgresLedgerStore } from "../../server/storage/postgres/ledger-store.ts";
import { SharedSpend } from "../../server/storage/postgres/shared-spend.ts";
import type { Queries, SqlValue } from "../../server/storage/sql/database.ts";
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
    SELECT 'key', 'key_' || key, to_char(date '2026-08-01' + day, 'YYYY-MM-DD'), 1
    FROM generate_series(1, 500) AS key, generate_series(0, 40) AS day`);
  await db.query(`INSERT INTO vexel.spent
    SELECT 'key', 'key_' || key, '2026-08', 41 FROM generate_series(1, 500) AS key`);
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

/** The spending of one key on one day, and a way to change it. */
async function openSpend(db: ExplainedDatabase) {
  let now = Date.UTC(2026, 7, 20);
  const spend = new SharedSpend(db, () => now);
  const day = () => new Date(now).toISOString().slice(0, 10);
  return {
    spend,
    read: (id = "key_7") => spend.read({ scope: "key", id }, day()),
    change: (dollars: number, { id = "key_7", queries = db as Queries } = {}) =>
      queries.query(`UPDATE vexel.spent SET dollars = ${dollars}
        WHERE id = '${id}' AND period = '${day()}'`),
    nextDay: (days = 1) => {
      now += days * 86_400_000;
    },
  };
}

testWithPostgres("sums that changed since the last refresh are read by the next one", async () => {
  const db = await openSpendTable();
  const { spend, read, change } = await openSpend(db);
  await change(2);
  expect(read()).toBeUndefined();
  await spend.refresh();
  expect(read()).toBe(2);
  await change(3);
  await spend.refresh();
  expect(read()).toBe(3);
  await spend.refresh();
  expect(read()).toBe(3);
});

testWithPostgres("only the sums of the current periods are read, by indexes", async () => {
  const db = await openSpendTable();
  await db.query("ANALYZE vexel.spent");
  const { spend } = await openSpend(db);
  await spend.refresh();
  await spend.refresh();
  expect(db.plans).toHaveLength(2);
  for (const plan of db.plans) {
    expect(plan).toContain("Index Scan on spent_by_day");
    expect(plan).toContain("Index Scan on spent_by_month");
    expect(plan).not.toContain("Seq Scan");
  }
});

testWithPostgres("a sum whose transaction commits after a later one is read, too", async () => {
  const db = await openSpendTable();
  const { spend, read, change } = await openSpend(db);
  await spend.refresh();
  await db.transaction(async (queries) => {
    await change(2, { queries });
    await change(3, { id: "key_8" });
    await spend.refresh();
    expect([read(), read("key_8")]).toEqual([1, 3]);
    await change(4, { id: "key_8" });
    await spend.refresh();
  });
  await spend.refresh();
  expect([read(), read("key_8")]).toEqual([2, 4]);
});

testWithPostgres(
  "the sums of a new day are read, also those from before the day began",
  async () => {
    const { spend, read, change, nextDay } = await openSpend(await openSpendTable());
    nextDay();
    // By another replica, whose clock is ahead.
    await change(5);
    nextDay(-1);
    await spend.refresh();
    nextDay();
    await spend.refresh();
    expect(read()).toBe(5);
  },
);

testWithPostgres(
  "after a failover, all sums are read: ids of transactions may be reused",
  async () => {
    const db = await openSpendTable();
    const { spend, read, change } = await openSpend(db);
    let server = "first";
    const query = db.query.bind(db);
    db.query = async <Row>(text: string, values?: readonly SqlValue[]) => {
      const { rows, count } = await query<Row>(text, values);
      // The first server has counted further than the second.
      const end = server === "first" ? { end: "1000000000" } : {};
      return { rows: rows.map((row) => ({ ...row, ...end, server })), count };
    };
    await spend.refresh();
    await change(3);
    await spend.refresh();
    expect(read()).toBe(1);
    server = "second";
    await spend.refresh();
    expect(read()).toBe(3);
  },
);
