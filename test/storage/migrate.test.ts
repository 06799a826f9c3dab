/** Schema migrations: numbered, forward only, each applied once. */
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { createEventStore } from "../../server/storage/sql/event-store.ts";
import { openEventFile } from "../../server/storage/sqlite/event-database.ts";
import { SqliteLedgerStore } from "../../server/storage/sqlite/ledger-store.ts";
import { type Migration, migrate } from "../../server/storage/sqlite/migrate.ts";
import { eventMigrations } from "../../server/storage/sqlite/migrations/events/index.ts";
import { gatewayMigrations } from "../../server/storage/sqlite/migrations/gateway/index.ts";
import { ledgerMigrations } from "../../server/storage/sqlite/migrations/ledger/index.ts";
import { SqliteDatabase } from "../../server/storage/sqlite/sqlite-database.ts";
import { temporaryFolder } from "../harness.ts";
import { filesBelow } from "../laws/tree.ts";

const applied: string[] = [];
const step = (name: string): Migration => ({ name, up: () => void applied.push(name) });

test("each migration is applied once, in order", () => {
  const db = new Database(":memory:");
  migrate(db, [step("0001-a")], 5);
  migrate(db, [step("0001-a"), step("0002-b")], 6);
  migrate(db, [step("0001-a"), step("0002-b")], 7);
  expect(applied.splice(0)).toEqual(["0001-a", "0002-b"]);
  expect(db.query("SELECT * FROM schema_migrations ORDER BY number").all()).toEqual([
    { number: 1, name: "0001-a", applied_at: 5 },
    { number: 2, name: "0002-b", applied_at: 6 },
  ]);
});

test("a migration that fails rolls back all migrations of its start", () => {
  const db = new Database(":memory:");
  const failing: Migration = {
    name: "0002-b",
    up: (at) => {
      at.run("CREATE TABLE b (x)");
      throw new Error("no");
    },
  };
  const first: Migration = { name: "0001-a", up: (at) => void at.run("CREATE TABLE a (x)") };
  expect(() => migrate(db, [first, failing], 0)).toThrow("no");
  expect(db.query("SELECT name FROM sqlite_master").all()).toEqual([]);
});

test("a file of a newer version is refused, and the message says what to do", () => {
  const db = new Database(":memory:");
  migrate(db, [step("0001-a"), step("0002-b")], 0);
  expect(() => migrate(db, [step("0001-a")], 0)).toThrow("a newer version of Vexel has written it");
});

test("two connections that open the same file at the same time migrate it once", () => {
  using folder = temporaryFolder();
  const open = () => new Database(join(folder.path, "vexel.db"), { create: true });
  const [a, b] = [open(), open()];
  migrate(a, gatewayMigrations, 0);
  migrate(b, gatewayMigrations, 0);
  expect(b.query("SELECT count(*) AS count FROM schema_migrations").get()).toEqual({
    count: gatewayMigrations.length,
  });
  a.close();
  b.close();
});

test.each([
  ["gateway", gatewayMigrations],
  ["ledger", ledgerMigrations],
  ["events", eventMigrations],
])(
  "the names of the migrations of %s are their file names, numbered without gaps",
  (database, migrations) => {
    const files = filesBelow(`server/storage/sqlite/migrations/${database}`)
      .map((file) => file.split("/").at(-1)?.replace(/\.ts$/, "") ?? "")
      .filter((name) => name !== "index")
      .sort();
    expect(migrations.map(({ name }) => name)).toEqual(files);
    for (const [index, name] of files.entries()) {
      expect(name).toStartWith(`${String(index + 1).padStart(4, "0")}-`);
    }
  },
);

/** The tables and indexes of a file. */
const schemaOf = (db: Database): unknown[] =>
  db.query("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name").all();

/** Rows of every table, as the first schema that has them can store them. */
const earlierRows: Readonly<Record<string, readonly string[]>> = {
  gateway: [
    "INSERT INTO keys (id, name, hash, hint, models, created_at) VALUES ('k', 'ci', 'h', 'vx-', '[]', 5)",
    "INSERT INTO config_entities (kind, id, value, version, created_at, updated_at) VALUES ('model', 'm', '{}', 1, 1, 1)",
    "INSERT INTO audit_log (id, at, actor, action, before, after) VALUES ('a', 1, 'ada', 'x', '1', '2')",
  ],
  ledger: [
    `INSERT INTO ledger (request_id, at, endpoint, key_id, model, attempts, status, error, latency_ms, bytes_in, bytes_out, cost)
     VALUES ('req_1', 1790000000000, 'embeddings', 'k', 'm', 1, 200, NULL, 12, 3, 4, 0.5),
            ('req_2', 1790000000001, 'embeddings', 'k', 'm', 1, 502, 'upstream_error', 1500, 3, 4, NULL)`,
    "INSERT INTO spent (scope, id, period, dollars) VALUES ('key', 'other', 'total', 7)",
  ],
  events: [
    "INSERT INTO events (id, type, at, data) VALUES ('evt_1', 'key.created', 1, '{}')",
    "INSERT INTO deliveries (webhook, seq, state, attempts, due) VALUES ('w', 1, 'given_up', 3, 0)",
  ],
};

const hasTable = (db: Database, sql: string): boolean => {
  const [, table = ""] = /INSERT INTO (\w+)/.exec(sql) ?? [];
  return db.query("SELECT 1 FROM sqlite_master WHERE name = ?1").get(table) !== null;
};

describe.each([
  ["gateway", gatewayMigrations],
  ["ledger", ledgerMigrations],
  ["events", eventMigrations],
])("a file of %s from every earlier state", (database, migrations) => {
  const fresh = new Database(":memory:");
  migrate(fresh, migrations, 0);

  test.each(migrations.map(({ name }, at) => [name, at] as const))(
    "after %s is migrated to the schema of a new file, and keeps its rows",
    (_name, at) => {
      const db = new Database(":memory:");
      migrate(db, migrations.slice(0, at + 1), 0);
      const inserted = (earlierRows[database] ?? []).filter((sql) => hasTable(db, sql));
      for (const sql of inserted) db.run(sql);
      const counts = (): number[] =>
        inserted.map((sql) => {
          const [, table = ""] = /INSERT INTO (\w+)/.exec(sql) ?? [];
          const counted = db.query<{ count: number }, []>(`SELECT count(*) AS count FROM ${table}`);
          return counted.get()?.count ?? 0;
        });
      const before = counts();
      migrate(db, migrations, 0);
      // A migration may add rows, such as sums over those that exist; it never loses one.
      for (const [index, count] of counts().entries()) {
        expect(count).toBeGreaterThanOrEqual(before[index] ?? 0);
      }
      expect(inserted.length).toBeGreaterThan(0);
      expect(namesIn(schemaOf(db))).toEqual(namesIn(schemaOf(fresh)));
      expect(columnsIn(db)).toEqual(columnsIn(fresh));
    },
  );
});

const namesIn = (schema: unknown[]): unknown[] =>
  schema.map((entry) => (entry as { name: string }).name);

/** The columns of every table. */
const columnsIn = (db: Database): unknown[] =>
  db
    .query<{ name: string }, []>(
      "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name",
    )
    .all()
    .map(({ name }) => [name, db.query(`PRAGMA table_info(${name})`).all()]);

test("the rows of an earlier ledger are in the roll-ups and in the segment summaries", () => {
  const db = new Database(":memory:");
  migrate(db, ledgerMigrations.slice(0, 2), 0);
  for (const sql of earlierRows.ledger ?? []) db.run(sql);
  migrate(db, ledgerMigrations, 0);
  expect(db.query("SELECT requests, errors, cost FROM usage_by_hour").all()).toEqual([
    { requests: 2, errors: 1, cost: 0.5 },
  ]);
  expect(
    db
      .query("SELECT first_id, last_id, rows, errors, max_status, max_cost FROM ledger_segments")
      .all(),
  ).toEqual([
    { first_id: "req_1", last_id: "req_2", rows: 2, errors: 1, max_status: 502, max_cost: 0.5 },
  ]);
});

test("a ledger and events of a version without numbered migrations are migrated once, and keep their rows and sums", async () => {
  using folder = temporaryFolder();
  cpSync(join(import.meta.dir, "data-folder-aa2395b"), folder.path, { recursive: true });
  for (let opening = 0; opening < 2; opening++) {
    const file = new SqliteLedgerStore({ folder: folder.path, maxBytes: 0 });
    expect(file.recent(10).map(({ status }) => status)).toEqual([200, 502, 200]);
    expect(file.sumSpent({ scope: "key", id: "file:ci" }, "2026-11-15")).toBe(0.5);
    expect(file.sumSpent({ scope: "project", id: "web" }, "total")).toBe(0.5);
    file.close();
    using events = openEventFile(folder.path);
    expect(
      (await createEventStore(new SqliteDatabase(events)).list({ limit: 10 }))?.map(({ id }) => id),
    ).toEqual(["evt_2", "evt_1"]);
  }
});

test("a delivery that an earlier version gave up is abandoned", () => {
  const db = new Database(":memory:");
  const [tables] = eventMigrations;
  migrate(db, tables ? [tables] : [], 0);
  const insert = db.query(
    "INSERT INTO deliveries (webhook, seq, state, attempts, due) VALUES ('wh_0', ?1, ?2, 3, 0)",
  );
  for (const [seq, state] of ["waiting", "delivered", "given_up"].entries()) insert.run(seq, state);
  migrate(db, eventMigrations, 0);
  expect(db.query("SELECT state FROM deliveries ORDER BY seq").values().flat()).toEqual([
    "waiting",
    "delivered",
    "abandoned",
  ]);
});
