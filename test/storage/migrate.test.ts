/** Schema migrations: numbered, forward only, each applied once. Files of other schemas are refused. */
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { version } from "../../package.json";
import { openKeyStore } from "../../server/storage/sqlite/gateway-database.ts";
import { type Migration, migrate } from "../../server/storage/sqlite/migrate.ts";
import { eventMigrations } from "../../server/storage/sqlite/migrations/events.ts";
import { gatewayMigrations } from "../../server/storage/sqlite/migrations/gateway.ts";
import { jobMigrations } from "../../server/storage/sqlite/migrations/jobs.ts";
import { lastKnownMigrations } from "../../server/storage/sqlite/migrations/last-known.ts";
import { ledgerMigrations } from "../../server/storage/sqlite/migrations/ledger.ts";
import { vectorMigrations } from "../../server/storage/sqlite/migrations/vectors.ts";
import { temporaryFolder } from "../harness.ts";

const step = (name: string): Migration => ({
  name,
  statements: [`CREATE TABLE ${name.slice(5)} (x)`],
});
const [a, b] = [step("0001-a"), step("0002-b")];

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
    { number: 1, name: "0001-a", version, applied_at: 5 },
    { number: 2, name: "0002-b", version, applied_at: 6 },
  ]);
});

test("a migration that fails rolls back all migrations of its start", () => {
  const db = new Database(":memory:");
  const failing = { name: "0002-b", statements: ["CREATE TABLE b (x)", "CREATE TABLE a (x)"] };
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
  ["vexel.db", gatewayMigrations],
  ["ledger.db", ledgerMigrations],
  ["events.db", eventMigrations],
  ["jobs.db", jobMigrations],
  ["vectors.db", vectorMigrations],
  ["last-known.db", lastKnownMigrations],
] as const)("the migrations of %s are numbered from 1 on, without gaps", (_, migrations) => {
  expect(migrations.map(({ name }) => Number(name.slice(0, 4)))).toEqual(
    migrations.map((_, at) => at + 1),
  );
});

describe("a file of another version is refused unchanged, with both versions:", () => {
  const [other, third] = [step("0002-other"), step("0003-c")];
  test.each<[string, readonly Migration[], readonly Migration[], string]>([
    ["a newer one", [a, b], [a], "0002-b"],
    ["one with as many migrations", [a, other], [a, b], "0002-other"],
    ["one with fewer migrations", [other], [a, b], "0002-other"],
    ["one with more migrations", [a, other, third], [a, b], "0002-other"],
  ])("%s", (_, theirs, ours, named) => {
    const db = migrated(theirs);
    db.run("UPDATE schema_migrations SET version = '7.8.9'");
    const before = contentOf(db);
    expect(() => migrate(db, ours, 0)).toThrow(
      `Vexel 7.8.9 migrated it last, and this version (${version}) does not have its migration "${named}"; start Vexel 7.8.9,`,
    );
    expect(contentOf(db)).toEqual(before);
  });

  test.each([
    ["tables without a record of migrations", "CREATE TABLE a (x)"],
    ["a record without the version", "CREATE TABLE schema_migrations (number, name, applied_at)"],
    ["a record of another program", "CREATE TABLE schema_migrations (version TEXT)"],
  ])("%s", (_, statement) => {
    const db = new Database(":memory:");
    db.run(statement);
    if (statement.includes("schema_migrations"))
      db.run("INSERT INTO schema_migrations DEFAULT VALUES");
    const before = contentOf(db);
    expect(() => migrate(db, [a], 0)).toThrow(
      `its tables are not those of this version of Vexel (${version}) but of an unknown version, or of another program`,
    );
    expect(contentOf(db)).toEqual(before);
  });
});

test("a file whose tables another program has written is refused unchanged with its name and the fix", () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "vexel.db");
  const other = new Database(path, { create: true });
  other.run("CREATE TABLE keys (id TEXT)");
  other.close();
  const before = readFileSync(path);
  expect(() => openKeyStore(folder.path, Date.now)).toThrow(
    /vexel\.db cannot be opened: its tables are not those of this version of Vexel \(.*\) .* restore a backup/,
  );
  expect(readFileSync(path).equals(before)).toBe(true);
});

test("a file that is not a database is refused with its name and the fix", () => {
  using folder = temporaryFolder();
  writeFileSync(join(folder.path, "vexel.db"), "no database at all, but long enough".repeat(100));
  expect(() => openKeyStore(folder.path, Date.now)).toThrow("is damaged or not a database");
});
