/**
 * Schema migrations: numbered, forward only, each applied once. Files of other schemas are refused.
 * `earlier-files.test.ts` opens files of each earlier state.
 */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { refuseEarlierDataFolder } from "../../server/storage/files/earlier-folder.ts";
import { openEventFile } from "../../server/storage/sqlite/event-database.ts";
import { openKeyStore } from "../../server/storage/sqlite/gateway-database.ts";
import { SqliteLedgerStore } from "../../server/storage/sqlite/ledger-store.ts";
import { type Migration, migrate } from "../../server/storage/sqlite/migrate.ts";
import { eventMigrations } from "../../server/storage/sqlite/migrations/events.ts";
import { gatewayMigrations } from "../../server/storage/sqlite/migrations/gateway.ts";
import { lastKnownMigrations } from "../../server/storage/sqlite/migrations/last-known.ts";
import { ledgerMigrations } from "../../server/storage/sqlite/migrations/ledger.ts";
import { vectorMigrations } from "../../server/storage/sqlite/migrations/vectors.ts";
import { temporaryFolder } from "../harness.ts";

const step = (name: string): Migration => ({
  name,
  statements: [`CREATE TABLE ${name.slice(5)} (x)`],
});
const [a, b] = [step("0003-a"), step("0004-b")];

const migrated = (migrations: readonly Migration[]): Database => {
  const db = new Database(":memory:");
  migrate(db, migrations, 0);
  return db;
};

/** Everything that is in a file. */
const contentOf = (db: Database): unknown[] =>
  db
    .query<{ name: string; sql: string }, []>("SELECT name, sql FROM sqlite_master WHERE sql > ''")
    .all()
    .map(({ name, sql }) => (sql.startsWith("CREATE TABLE") ? rowsOf(db, name, sql) : sql));
const rowsOf = (db: Database, name: string, sql: string) => [
  sql,
  db.query(`SELECT * FROM ${name}`).all(),
];

test("each migration is applied once, in order", () => {
  const db = new Database(":memory:");
  migrate(db, [a], 5);
  migrate(db, [a, b], 6);
  migrate(db, [a, b], 7);
  expect(db.query("SELECT * FROM schema_migrations ORDER BY number").all()).toEqual([
    { number: 3, name: "0003-a", applied_at: 5 },
    { number: 4, name: "0004-b", applied_at: 6 },
  ]);
});

test("a migration that fails rolls back all migrations of its start", () => {
  const db = new Database(":memory:");
  const failing = { name: "0004-b", statements: ["CREATE TABLE b (x)", "CREATE TABLE a (x)"] };
  expect(() => migrate(db, [a, failing], 0)).toThrow("already exists");
  expect(contentOf(db)).toEqual([]);
});

test("two connections that open the same file at the same time migrate it once", () => {
  using folder = temporaryFolder();
  using one = new Database(join(folder.path, "vexel.db"), { create: true });
  using other = new Database(join(folder.path, "vexel.db"));
  for (const db of [one, other]) migrate(db, gatewayMigrations, 0);
  expect(other.query("SELECT count(*) AS count FROM schema_migrations").get()).toEqual({
    count: gatewayMigrations.length,
  });
});

test.each([
  ["gateway", gatewayMigrations, 4],
  ["ledger", ledgerMigrations, 6],
  ["events", eventMigrations, 2],
  ["vectors", vectorMigrations, 1],
  ["last-known", lastKnownMigrations, 1],
] as const)(
  "the numbers of the migrations of %s have no gaps, so that the highest one says which ones a file has",
  (_, migrations, first) => {
    expect(migrations.map(({ name }) => Number(name.slice(0, 4)))).toEqual(
      migrations.map((_, at) => first + at),
    );
  },
);

test("a file of a newer version is refused, and the message says what to do", () => {
  expect(() => migrate(migrated([a, b]), [a], 0)).toThrow("a newer version of Vexel has written");
});

test("a file of a schema before the first migration is refused unchanged, and the message says what to do", () => {
  const db = migrated([step("0002-z")]);
  const before = contentOf(db);
  expect(() => migrate(db, [a, b], 0)).toThrow(
    /schema 2, and the first that is read is 3\)\. Move it away to start with an empty one/,
  );
  expect(contentOf(db)).toEqual(before);
});

test("a file without numbers gets the number of its state, and the migrations after it", () => {
  const db = new Database(":memory:");
  db.run("CREATE TABLE a (x)");
  migrate(db, [a, b], 5, () => 3);
  expect(db.query("SELECT number, name FROM schema_migrations ORDER BY number").all()).toEqual([
    { number: 3, name: "0003-a" },
    { number: 4, name: "0004-b" },
  ]);
  // Once the file has numbers, only they count.
  migrate(db, [a, b], 6, () => {
    throw new Error("the file has numbers");
  });
  expect(db.query("SELECT count(*) AS count FROM b").get()).toEqual({ count: 0 });
});

test("a file without numbers whose state is not known is refused unchanged", () => {
  const db = new Database(":memory:");
  db.run("CREATE TABLE other (x)");
  const before = contentOf(db);
  expect(() => migrate(db, [a, b], 5, () => 0)).toThrow("it has no schema that this version");
  expect(contentOf(db)).toEqual(before);
});

test("databases of a version without numbered migrations are refused unchanged", () => {
  using folder = temporaryFolder();
  cpSync(join(import.meta.dir, "data-folder-aa2395b"), folder.path, { recursive: true });
  new Database(join(folder.path, "vexel.db"), { create: true }).run("CREATE TABLE keys (id TEXT)");
  for (const [file, open] of [
    ["ledger.db", () => new SqliteLedgerStore({ folder: folder.path, maxBytes: 0 })],
    ["events.db", () => openEventFile(folder.path)],
    ["vexel.db", () => openKeyStore(folder.path, Date.now)],
  ] as const) {
    const content = () => {
      using db = new Database(join(folder.path, file));
      return contentOf(db);
    };
    const before = content();
    expect(open).toThrow(`${file} cannot be opened: it has no schema that this version`);
    expect(content()).toEqual(before);
  }
});

test("a file that is not a database is refused with its name and the fix", () => {
  using folder = temporaryFolder();
  writeFileSync(join(folder.path, "vexel.db"), "no database at all, but long enough".repeat(100));
  expect(() => openKeyStore(folder.path, Date.now)).toThrow("is damaged or not a database");
});

test.each([
  "pictures",
  "answers",
  "held-1-a.journal",
  "reservations-2-b.journal",
  "ledger-3-c.journal",
])(
  "a data folder of an earlier version, with %s, is refused unchanged with a message that names it and the fix",
  (name) => {
    using folder = temporaryFolder();
    mkdirSync(join(folder.path, "images"));
    refuseEarlierDataFolder(folder.path);
    writeFileSync(join(folder.path, name), "content");
    expect(() => refuseEarlierDataFolder(folder.path)).toThrow(
      `it contains ${name}, which this version does not read. Start with an empty folder`,
    );
    expect(readFileSync(join(folder.path, name), "utf8")).toBe("content");
    expect(readdirSync(folder.path)).toHaveLength(2);
  },
);
