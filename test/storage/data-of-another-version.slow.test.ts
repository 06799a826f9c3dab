/**
 * Data of another version or of another program: the start and every command refuse it with the same sentence, which
 * names both versions, and change nothing.
 */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { version } from "../../package.json";
import { PostgresDatabase } from "../../server/storage/postgres/database.ts";
import { postgresMigrations } from "../../server/storage/postgres/migrations/index.ts";
import { openEventFile } from "../../server/storage/sqlite/event-database.ts";
import { openGatewayFile } from "../../server/storage/sqlite/gateway-database.ts";
import { ledgerMigrations } from "../../server/storage/sqlite/migrations/ledger.ts";
import { openDatabase } from "../../server/storage/sqlite/open-database.ts";
import { temporaryFolder } from "../harness.ts";
import { vexel, vexelProcess } from "../process/process-fixture.ts";
import { databaseName, sharedPostgres, testWithPostgres } from "./postgres-server.ts";

const unknownMigration = (name: string): string =>
  `Vexel 7.8.9 migrated it last, and this version (${version}) does not have its migration "${name}"; start Vexel 7.8.9, or restore a backup that Vexel ${version} has made.`;
const unknownOrigin = `its tables are not those of this version of Vexel (${version}) but of an unknown version, or of another program;`;

/** What the start and the commands write to stderr; each must fail. */
async function problemsOf(
  commands: readonly (readonly string[])[],
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<string[]> {
  const problems: string[] = [];
  for (const args of commands) {
    const run = args[0] === "serve" ? vexelProcess : vexel;
    const { code, err } = await run(args, { cwd, env });
    expect({ args, code }).toEqual({ args, code: 1 });
    problems.push(err);
  }
  return problems;
}

const contentOf = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder)
      .sort()
      .map((name) => [name, Bun.hash(readFileSync(join(folder, name))).toString()]),
  );

const writtenBy = "UPDATE schema_migrations SET version = '7.8.9'";
const added = `INSERT INTO schema_migrations (number, name, version, applied_at)
  SELECT max(number) + 1, '9999-added', '7.8.9', 0 FROM schema_migrations`;

test.each([
  ["a newer version", "ledger.db", [writtenBy, added], unknownMigration("9999-added")],
  [
    "an earlier commit with other migrations",
    "ledger.db",
    [writtenBy, "UPDATE schema_migrations SET name = '0001-ledger' WHERE number = 1"],
    unknownMigration("0001-ledger"),
  ],
  [
    "another build of this version",
    "ledger.db",
    [added.replace("7.8.9", version)],
    `another build of Vexel ${version} migrated it last: this build does not have its migration "9999-added"; start that build,`,
  ],
  [
    "a database that has lost the record of a migration",
    "vexel.db",
    ["DELETE FROM schema_migrations WHERE number = 1"],
    unknownOrigin,
  ],
  [
    "a version that did not record itself",
    "vexel.db",
    ["ALTER TABLE schema_migrations DROP COLUMN version"],
    unknownOrigin,
  ],
  ["another program", "events.db", ["DROP TABLE schema_migrations"], unknownOrigin],
] as const)("a data folder of %s is refused unchanged", async (_, name, statements, expected) => {
  using folder = temporaryFolder();
  const data = join(folder.path, "data");
  const env = { VEXEL_DATA: data, PORT: "0" };
  expect((await vexel(["keys", "create", "--name", "one"], { cwd: folder.path, env })).code).toBe(
    0,
  );
  openGatewayFile(data, Date.now).close();
  openEventFile(data).close();
  openDatabase({ path: join(data, "ledger.db"), busyMs: 50, migrations: ledgerMigrations }).close();
  const db = new Database(join(data, name));
  for (const statement of statements) db.run(statement);
  db.close();
  const before = contentOf(data);
  const commands = [["serve"], ["check"], ["keys", "list"], ["db", "backup", "copy"]];
  for (const problem of await problemsOf(commands, folder.path, env))
    expect(problem).toContain(`${join(data, name)} cannot be opened: ${expected}`);
  expect(contentOf(data)).toEqual(before);
  expect(readdirSync(folder.path)).toEqual(["data"]);
});

testWithPostgres.each<[string, readonly string[], string]>([
  [
    "an earlier commit with fewer and other migrations",
    [
      "DELETE FROM vexel.schema_migrations WHERE number > 7",
      "UPDATE vexel.schema_migrations SET version = '7.8.9'",
      "UPDATE vexel.schema_migrations SET name = '0001-keys-and-config' WHERE number = 1",
    ],
    unknownMigration("0001-keys-and-config"),
  ],
  [
    "a newer version that this one cannot run beside",
    [
      `INSERT INTO vexel.schema_migrations (number, name, version, requires, applied_at)
       VALUES (${postgresMigrations.length + 1}, '9999-added', '7.8.9', ${postgresMigrations.length + 1}, 0)`,
    ],
    unknownMigration("9999-added"),
  ],
  [
    "a version that did not record itself",
    ["ALTER TABLE vexel.schema_migrations DROP COLUMN version"],
    unknownOrigin,
  ],
  ["another program", ["DROP TABLE vexel.schema_migrations"], unknownOrigin],
])("a database of %s is refused unchanged", async (_, statements, expected) => {
  const server = await sharedPostgres();
  const url = await server.createDatabase();
  const db = new PostgresDatabase({ url, now: () => 1, maxConnections: 1 });
  await db.migrate();
  await db.close();
  for (const statement of statements) await server.execute(databaseName(url), statement);
  const tables = () =>
    server.execute(
      databaseName(url),
      `SELECT relname, oid, relnatts, pg_relation_size(oid)::int AS bytes FROM pg_class
       WHERE relnamespace = 'vexel'::regnamespace ORDER BY relname`,
    );
  const before = await tables();
  using folder = temporaryFolder();
  const env = {
    DATABASE_URL: url,
    VEXEL_SECRET: "test-secret-0123456789",
    VEXEL_DATA: join(folder.path, "data"),
    PORT: "0",
  };
  const commands = [
    ["serve"],
    ["check"],
    ["keys", "list"],
    ["db", "migrate"],
    ["db", "backup", join(folder.path, "copy")],
  ];
  for (const problem of await problemsOf(commands, folder.path, env))
    expect(problem).toContain(`The database (DATABASE_URL) cannot be used: ${expected}`);
  expect(await tables()).toEqual(before);
});

testWithPostgres("a database with a schema `vexel` of another program is refused", async () => {
  const server = await sharedPostgres();
  const url = await server.createDatabase();
  for (const statement of ["CREATE SCHEMA vexel", "CREATE TABLE vexel.paintings (id TEXT)"])
    await server.execute(databaseName(url), statement);
  const db = new PostgresDatabase({ url, now: () => 1, maxConnections: 1 });
  await expect(db.migrate()).rejects.toThrow(unknownOrigin);
  await db.close();
});
