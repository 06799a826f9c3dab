/**
 * Makes the fixtures of this version: what a gateway has stored when it is killed in the middle of its work, once in a
 * data folder with SQLite and once in PostgreSQL. A later version must open both, and finish the jobs.
 *
 *   bun test/contract/make-fixtures.ts FOLDER    writes FOLDER/sqlite.tar.gz and FOLDER/postgres.tar.gz
 *
 * Each archive has the data folder, vexel.yaml, and known.json with the time and what clients know; that of PostgreSQL
 * has database.sql and the objects of the object store as well. Fails if a table has no row: a new table needs a step
 * here that fills it, and its times a statement in the files of FOLDER that open-fixture.ts runs.
 */
import { Database } from "bun:sqlite";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { PostgresDatabase } from "../../server/storage/postgres/database.ts";
import { createStatementStore } from "../../server/storage/sql/statement-store.ts";
import { openGatewayDatabase } from "../../server/storage/sqlite/gateway-database.ts";
import { startFakeS3 } from "../fake-s3.ts";
import { type Fake, startFake } from "../fake-upstream.ts";
import { configFor, type GatewayProcess, startProcess, temporaryFolder } from "../harness.ts";
import { pathOf } from "../programs.ts";
import { databaseName, sharedPostgres } from "../storage/postgres-server.ts";
import { until } from "../until.ts";
import { adminToken, fixtureEnvironment } from "./open-fixture.ts";
import { sendRequests, statement, statementCsv, storeEverything } from "./store-everything.ts";

/** Tables that may have no row, with the reason. */
const mayBeEmpty: Readonly<Record<string, string>> = {
  alerts: "the state of a rule is written when it fires, which takes minutes",
  leases: "one gateway alone needs none",
  backlog: "rows leave it at once while the database can be reached",
  ledger_exports: "the export is off",
};

const [target] = process.argv.slice(2);
if (target === undefined) throw new Error("make-fixtures.ts needs the folder of the fixtures");
mkdirSync(target, { recursive: true });

for (const database of ["sqlite", "postgres"] as const) {
  using folder = temporaryFolder();
  const fake = startFake();
  const server = database === "postgres" ? await sharedPostgres() : undefined;
  const url = await server?.createDatabase();
  const s3 = url === undefined ? undefined : startFakeS3();
  const gateway = await start(folder.path, fake, {
    ...(url !== undefined && { DATABASE_URL: url }),
    ...(s3 && { BLOB_URL: s3.url("vexel") }),
  });
  const known = await storeEverything({ gateway, fake, adminToken });
  await storeStatement(url, join(folder.path, "data"));
  if (url !== undefined) {
    const hasRow = async (table: string): Promise<boolean> =>
      new Map(await rowsOfDatabase(databaseName(url))).get(`postgres ${table}`) !== 0;
    // Usage is summed some time after the ledger's rows. Some rows are summed, and some are not.
    await until(() => hasRow("usage_by_day"));
    await sendRequests({ gateway, fake, adminToken });
    await until(() => hasRow("ledger_batches"));
  }
  // In the middle of a batch and of an image job, as after a loss of power.
  gateway.kill("SIGKILL");
  await gateway.exited;
  const facts = { madeAt: Date.now(), upstream: fake.url, ...known };
  writeFileSync(join(folder.path, "known.json"), `${JSON.stringify(facts, undefined, 1)}\n`);
  const data = join(folder.path, "data");
  const counts = rowsOfFolder(data);
  for (const name of ["lock.db", "temp"])
    rmSync(join(data, name), { recursive: true, force: true });
  if (server && url !== undefined) {
    for (const [name, count] of await rowsOfDatabase(databaseName(url))) counts.set(name, count);
    dump(url, join(folder.path, "database.sql"));
    for (const [key, { bytes }] of s3?.objects ?? []) {
      const file = join(folder.path, "objects", key);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, bytes);
    }
  }
  report(database, counts);
  const archive = join(target, `${database}.tar.gz`);
  const names = [
    "data",
    "known.json",
    "vexel.yaml",
    ...(url === undefined ? [] : ["database.sql", "objects"]),
  ];
  run(["tar", "-C", folder.path, "-czf", archive, ...names]);
  fake.close();
  await s3?.stop();
}
// The server of PostgreSQL would keep this process.
process.exit(0);

function start(
  folder: string,
  fake: Fake,
  stores: Readonly<Record<string, string>>,
): Promise<GatewayProcess> {
  const env = { ...fixtureEnvironment, ...stores };
  return startProcess({ folder, yaml: configFor(fake.url), env });
}

/** The gateway writes one for a month that has ended, and none of its requests is so old. */
async function storeStatement(url: string | undefined, data: string): Promise<void> {
  const { now } = Date;
  const db =
    url === undefined ? openGatewayDatabase(data, now) : new PostgresDatabase({ url, now });
  await createStatementStore(db).create({ ...statement, createdAt: now() }, statementCsv);
  await db.close();
}

/** The rows of each table, by file and table. */
function rowsOfFolder(folder: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const file of readdirSync(folder)
    .filter((name) => name.endsWith(".db"))
    .sort()) {
    // Writable: the write-ahead log of a killed process is read by a writer only.
    using db = new Database(join(folder, file), { readwrite: true });
    const tables = db
      .query<{ name: string }, []>(
        "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name",
      )
      .all();
    for (const { name } of tables) {
      const row = db.query<{ count: number }, []>(`SELECT count(*) AS count FROM "${name}"`).get();
      counts.set(`${file} ${name}`, row?.count ?? 0);
    }
  }
  return counts;
}

async function rowsOfDatabase(name: string): Promise<[string, number][]> {
  const server = await sharedPostgres();
  const tables = await server.execute<{ name: string }>(
    name,
    `SELECT relname AS name FROM pg_class
     WHERE relnamespace = 'vexel'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
     ORDER BY relname`,
  );
  return Promise.all(
    tables.map(async ({ name: table }): Promise<[string, number]> => {
      const count = `SELECT count(*)::int AS count FROM vexel."${table}"`;
      const [row] = await server.execute<{ count: number }>(name, count);
      return [`postgres ${table}`, row?.count ?? 0];
    }),
  );
}

function dump(url: string, file: string): void {
  const program = join(pathOf("postgresql"), "pg_dump");
  run([program, "--schema=vexel", "--no-owner", "--format=plain", `--file=${file}`, url]);
}

function report(database: string, counts: ReadonlyMap<string, number>): void {
  console.log(`${database}:`);
  for (const [name, count] of counts) console.log(`${String(count).padStart(6)}  ${name}`);
  const missing = [...counts].filter(
    ([name, count]) => count === 0 && !((name.split(" ")[1] ?? "") in mayBeEmpty),
  );
  if (missing.length === 0) return;
  throw new Error(`No row in: ${missing.map(([name]) => name).join(", ")}`);
}

function run(args: readonly string[]): void {
  const { exitCode, stderr } = Bun.spawnSync([...args]);
  if (exitCode !== 0) throw new Error(`${args.join(" ")}: ${stderr}`);
}
