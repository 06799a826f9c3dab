/** The sums of the ledger in PostgreSQL: each row is counted once, by queries and by every replica's budgets. */
import { expect } from "bun:test";
import { toDollars } from "../../server/lib/nano-dollars.ts";
import type { LedgerListQuery, LedgerPage } from "../../server/storage/ports/ledger-queries.ts";
import { appendLedgerRows } from "../../server/storage/postgres/append-ledger-rows.ts";
import { PostgresDatabase } from "../../server/storage/postgres/database.ts";
import { dayOf, dropDay } from "../../server/storage/postgres/ledger-partitions.ts";
import { createPostgresLedgerQueries } from "../../server/storage/postgres/ledger-queries.ts";
import { PostgresLedgerStore } from "../../server/storage/postgres/ledger-store.ts";
import { listRows } from "../../server/storage/postgres/list-ledger-rows.ts";
import { SharedSpend } from "../../server/storage/postgres/shared-spend.ts";
import type { Queries, SqlValue } from "../../server/storage/sql/database.ts";
import { closeAfterEach } from "../clean-up.ts";
import { ledgerRow } from "../ledger/ledger-fixture.ts";
import { databaseName, sharedPostgres, testWithPostgres } from "./postgres-server.ts";

const closing = closeAfterEach();

let migrated: Promise<string> | undefined;

/** A copy of a database to which the migrations were applied, which takes half of their CPU time. */
async function createDatabase(): Promise<string> {
  const server = await sharedPostgres();
  migrated ??= server.createDatabase().then(async (url) => {
    const db = new PostgresDatabase({ url, now: () => 1 });
    await db.migrate();
    await db.close();
    return databaseName(url);
  });
  return server.createDatabase(await migrated);
}

/** Keeps the plan of each statement that has values. */
class ExplainedDatabase extends PostgresDatabase {
  readonly plans: string[] = [];
  /** Changes the rows of each result. */
  received = <Row>(rows: readonly Row[]): readonly Row[] => rows;

  override query<Row>(text: string, values: readonly SqlValue[] = []) {
    return this.#explained({ query: (...statement) => super.query(...statement) }).query<Row>(
      text,
      values,
    );
  }

  override transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T> {
    return super.transaction((queries) => work(this.#explained(queries)));
  }

  #explained(queries: Queries): Queries {
    return {
      query: async <Row>(text: string, values: readonly SqlValue[] = []) => {
        if (values.length > 0) {
          const { rows } = await queries.query<object>(`EXPLAIN ${text}`, values);
          this.plans.push(rows.flatMap((row) => Object.values(row)).join("\n"));
        }
        const { rows, count } = await queries.query<Row>(text, values);
        return { rows: this.received(rows), count };
      },
    };
  }
}

/** A spend table with the sums of some keys on 41 days from 2026-08-01 on, and in that month. */
async function openSpendTable(keys = 10): Promise<ExplainedDatabase> {
  const url = await createDatabase();
  const db = new ExplainedDatabase({ url, now: () => 1 });
  closing(db);
  await db.query(`INSERT INTO vexel.spent
    SELECT 'key', 'key_' || key, to_char(date '2026-08-01' + day, 'YYYY-MM-DD'), 1
    FROM generate_series(1, ${keys}) AS key, generate_series(0, 40) AS day`);
  await db.query(`INSERT INTO vexel.spent
    SELECT 'key', 'key_' || key, '2026-08', 41 FROM generate_series(1, ${keys}) AS key`);
  return db;
}

/** The spending of one key on one day, and a way to change it. */
async function openSpend(db: ExplainedDatabase) {
  let now = Date.UTC(2026, 7, 20);
  const spend = new SharedSpend(db, () => now);
  const day = () => new Date(now).toISOString().slice(0, 10);
  return {
    spend,
    read: (id = "key_7") => spend.read({ scope: "key", id, period: day() }),
    change: (dollars: number, { id = "key_7", queries = db as Queries } = {}) =>
      queries.query(`UPDATE vexel.spent SET nanos = ${dollars}
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
  expect([spend.isRead, read()]).toEqual([false, 0]);
  await spend.refresh();
  expect([spend.isRead, read()]).toEqual([true, 2]);
  await change(3);
  await spend.refresh();
  expect(read()).toBe(3);
  await spend.refresh();
  expect(read()).toBe(3);
});

testWithPostgres("only the sums of the current periods are read, by indexes", async () => {
  const db = await openSpendTable(500);
  await db.query("ANALYZE vexel.spent");
  const { spend } = await openSpend(db);
  await spend.refresh();
  await spend.refresh();
  const plans = db.plans.filter((plan) => plan.includes("spent"));
  expect(plans).toHaveLength(2);
  for (const plan of plans) {
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
    db.received = (rows) => {
      // The first server has counted further than the second.
      const end = server === "first" ? { end: "1000000000" } : {};
      return rows.map((row) => ({ ...row, ...end, server }));
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

const noon = Date.UTC(2026, 7, 20, 12);

/** A day of rows: 60 in each of five hours, of which every tenth is of the rare key, and its latest costs a dollar. */
async function openDay() {
  const db = new PostgresDatabase({ url: await createDatabase(), now: () => 1 });
  closing(db);
  const store = new PostgresLedgerStore(db);
  const rows = Array.from({ length: 300 }, (_, at) =>
    ledgerRow(noon - at * 60_000 - 1, {
      requestId: `req_${String(1000 - at).padStart(4, "0")}`,
      keyId: at % 10 === 3 ? "rare" : "common",
      cost: at === 3 ? 1 : 0.001,
    }),
  );
  await store.append(rows);
  await store.rollUp();
  return { db, rows };
}

/** All pages of a search in which every statement takes as long as the search of a page may take. */
async function searchSlowly(
  db: PostgresDatabase,
  query: Partial<LedgerListQuery>,
  maxRows: number,
) {
  const pages: LedgerPage[] = [];
  for (let cursor: string | undefined = ""; cursor !== undefined; ) {
    let now = 0;
    const given = { limit: 50, ...query, ...(cursor !== "" && { cursor }) };
    const page: LedgerPage = await listRows(db, given, () => (now += 60_000), maxRows);
    pages.push(page);
    cursor = page.next;
  }
  return { pages, ids: pages.flatMap(({ entries }) => entries.map(({ requestId }) => requestId)) };
}

testWithPostgres(
  "a search without a match ends after its time with a cursor, however many rows there are",
  async () => {
    const { db } = await openDay();
    const { pages, ids } = await searchSlowly(db, { cost: { min: 100 } }, 25);
    expect(ids).toEqual([]);
    // 25 rows of an hour with 60 rows are read at a time.
    expect(pages.length).toBeGreaterThanOrEqual(300 / 25);
    const times = pages.slice(0, -1).map(({ scannedUntil }) => scannedUntil ?? 0);
    expect(times).toEqual(times.toSorted((a, b) => b - a));
    expect(new Set(times).size).toBe(times.length);
  },
);

testWithPostgres(
  "a search that is continued finds each request of a rare key once, in order, also within an hour",
  async () => {
    const { db, rows } = await openDay();
    const expected = rows.filter(({ keyId }) => keyId === "rare").map((row) => row.requestId);
    for (const maxRows of [20, 45, 100_000]) {
      const { ids } = await searchSlowly(db, { keyId: "rare" }, maxRows);
      expect(ids).toEqual(expected);
    }
    const { ids } = await searchSlowly(db, { cost: { min: 0.5 } }, 25);
    expect(ids).toEqual(["req_0997"]);
    const all = await searchSlowly(db, { limit: 20 }, 25);
    expect(all.ids).toEqual(rows.map(({ requestId }) => requestId));
  },
);
const total = { from: 0, to: 1e15, interval: "total", limit: 10 } as const;
const owner = { scope: "key", id: "file:ci" } as const;

/** One replica: appends, rolls up, and reads usage and spending. */
async function openReplica(url: string) {
  const db = new PostgresDatabase({ url, now: () => 1, maxConnections: 4 });
  closing(db);
  const spend = new SharedSpend(db, () => noon);
  const queries = createPostgresLedgerQueries(db, () => performance.now());
  return {
    db,
    store: new PostgresLedgerStore(db),
    counted: async () => {
      await spend.refresh();
      const { groups } = await queries.usage(total);
      return {
        requests: groups[0]?.requests ?? 0,
        dollars: toDollars(spend.read({ ...owner, period: "2026-08-20" })),
      };
    },
  };
}

testWithPostgres(
  "while replicas append and roll up at the same time, each sees every row exactly once",
  async () => {
    const url = await createDatabase();
    const replicas = await Promise.all([1, 2, 3].map(() => openReplica(url)));
    const batches = Array.from({ length: 30 }, () =>
      Array.from({ length: 20 }, () => ledgerRow(noon, { cost: 1 })),
    );
    let appended = 0;
    let isDone = false;
    const rollingUp = replicas.map(async ({ store }) => {
      while (!isDone) await store.rollUp();
    });
    const reading = replicas.map(async ({ counted }) => {
      while (!isDone) {
        const before = appended;
        const { requests, dollars } = await counted();
        expect(requests).toBeGreaterThanOrEqual(before);
        expect(requests % 20).toBe(0);
        expect(dollars).toBeGreaterThanOrEqual(before);
        expect(dollars).toBeLessThanOrEqual(requests);
      }
    });
    await Promise.all(
      replicas.map(async ({ store }, replica) => {
        for (const [at, rows] of batches.entries()) {
          if (at % replicas.length !== replica) continue;
          await store.append(rows);
          appended += rows.length;
        }
      }),
    );
    isDone = true;
    await Promise.all([...rollingUp, ...reading]);
    await replicas[0]!.store.rollUp();
    for (const { db, counted } of replicas) {
      expect(await counted()).toEqual({ requests: 600, dollars: 600 });
      const { rows } = await db.query(
        `SELECT (SELECT count(*) FROM vexel.ledger_batches)::int AS batches,
           (SELECT sum(requests) FROM vexel.usage_by_hour)::int AS hours,
           (SELECT sum(requests) FROM vexel.usage_by_day_without_key)::int AS days`,
      );
      expect(rows).toEqual([{ batches: 0, hours: 600, days: 600 }]);
    }
  },
);

testWithPostgres(
  "rows whose transaction commits after a later one was rolled up are counted, too",
  async () => {
    const { db, store, counted } = await openReplica(await createDatabase());
    await store.append([ledgerRow(noon, { cost: 1 })]);
    await db.transaction(async (queries) => {
      await appendLedgerRows(queries, [ledgerRow(noon, { cost: 2, keyId: "late" })]);
      await store.append([ledgerRow(noon, { cost: 4 })]);
      await store.rollUp();
      expect(await counted()).toEqual({ requests: 2, dollars: 5 });
    });
    expect(await counted()).toEqual({ requests: 3, dollars: 5 });
    await store.rollUp();
    expect(await counted()).toEqual({ requests: 3, dollars: 5 });
  },
);

testWithPostgres("a day whose rows are not rolled up yet is not dropped", async () => {
  const { db, store, counted } = await openReplica(await createDatabase());
  await store.append([ledgerRow(noon, { cost: 1 })]);
  expect(await dropDay(db, dayOf(noon))).toBe(false);
  await store.rollUp();
  expect(await dropDay(db, dayOf(noon))).toBe(true);
  expect(await counted()).toEqual({ requests: 1, dollars: 1 });
});

testWithPostgres(
  "rows wait for the roll-up as long as it was told, by the clock of the database",
  async () => {
    const { db, store } = await openReplica(await createDatabase());
    await store.append([ledgerRow(noon)]);
    const batches = async () => (await db.query("SELECT FROM vexel.ledger_batches")).rows.length;
    await store.rollUp(3_600_000);
    expect(await batches()).toBe(1);
    await db.query("UPDATE vexel.ledger_batches SET appended_at = appended_at - interval '1 hour'");
    await store.rollUp(3_600_000);
    expect(await batches()).toBe(0);
  },
);
