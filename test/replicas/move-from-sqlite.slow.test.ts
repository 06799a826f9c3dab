/** `vexel db move`: a data folder moves into PostgreSQL without loss, once. */
import { Database } from "bun:sqlite";
import { afterAll, expect } from "bun:test";
import { join } from "node:path";
import { openJobDatabase } from "../../server/storage/sqlite/job-database.ts";
import { SqliteLedgerStore } from "../../server/storage/sqlite/ledger-store.ts";
import { startFake } from "../fake-upstream.ts";
import { configFor, startProcess, temporaryFolder } from "../harness.ts";
import { ledgerRow } from "../ledger/ledger-fixture.ts";
import { rowsIn } from "../ledger/stored-rows.ts";
import { vexel } from "../process/process-fixture.ts";
import { databaseName, sharedPostgres, testWithPostgres } from "../storage/postgres-server.ts";
import { until } from "../until.ts";
import { replicaStarter, sharedRows, sharedSecret, startLoad } from "./replica-fixture.ts";

const fake = startFake();
afterAll(() => fake.close());
const start = replicaStarter(fake.url);

/** The tables with data of users. */
function tablesOf(data: string): string[] {
  return ["vexel.db", "ledger.db", "jobs.db", "events.db"].flatMap((name) => {
    using db = new Database(join(data, name), { readonly: true });
    const rows = db
      .query<{ name: string }, []>("SELECT name FROM sqlite_master WHERE type = 'table'")
      .all();
    return rows.map(({ name: table }) => table).filter((table) => !unmoved.has(table));
  });
}

/** PostgreSQL has its own. */
const unmoved: ReadonlySet<string> = new Set(["schema_migrations", "sqlite_sequence"]);

testWithPostgres(
  "a data folder moves into the database with every key, row and sum, and its gateway continues there",
  async () => {
    using folder = temporaryFolder();
    const server = await sharedPostgres();
    const databaseUrl = await server.createDatabase();
    const data = join(folder.path, "a", "data");
    const inFolder = { VEXEL_DATA: data, VEXEL_SECRET: sharedSecret };
    const env = { ...inFolder, DATABASE_URL: databaseUrl };
    const created = await vexel(["keys", "create", "--name", "moved"], {
      cwd: folder.path,
      env: inFolder,
    });
    const key = created.out.trim();

    // Killed, so that rows are left in the outbox.
    const gateway = await startProcess({
      folder: join(folder.path, "a"),
      yaml: configFor(fake.url),
      env: { VEXEL_SECRET: sharedSecret },
    });
    const load = startLoad([gateway.url], 4);
    await until(() => load.completed.length > 20);
    await gateway.close();
    await load.stop();
    // Rows of another month, whose text PostgreSQL cannot store as it is.
    const ledger = new SqliteLedgerStore({ folder: data, maxBytes: 0 });
    ledger.write([ledgerRow(Date.UTC(2026, 0, 31), { model: "a\u0000b\ud800", cost: 0.25 })]);
    await ledger.close();

    // A job with a range that a killed process held.
    const jobs = openJobDatabase(data, Date.now);
    await jobs.query(
      `INSERT INTO vexel.jobs (id, kind, endpoint, owner, key_id, status, created_at, started_at,
         deadline, expires_at, lines, completed, failed, bytes, cost, holder, lease_until, served_at, data)
       VALUES ('batch_1', 'batch', '/v1/embeddings', 'key:a', 'k', 'in_progress', 1, 2,
         9e12, 9e12, 7, 3, 0, 100, 0.5, 'dead', 5, 6, '{}')`,
    );
    await jobs.query(
      `INSERT INTO vexel.job_ranges (job_id, number, first_line, lines, position, settled, attempts,
         holder, lease_until, phase, phase_since)
       VALUES ('batch_1', 0, 0, 7, 42, 3, 1, 'dead', 5, 'lines', 1)`,
    );
    await jobs.close();

    const moved = await vexel(["db", "move"], { cwd: folder.path, env });
    expect(moved.err).toBe("");
    expect(moved.code).toBe(0);
    expect(tablesOf(data).filter((table) => !moved.out.includes(`${table} `))).toEqual([]);
    const rows = await sharedRows(server, databaseUrl);
    expect(load.completed.filter((id) => !rows.includes(id))).toEqual([]);
    const sums = async () =>
      server.execute<Record<string, number>>(
        databaseName(databaseUrl),
        `SELECT (SELECT count(*) FROM vexel.ledger)::int AS rows,
           (SELECT sum(requests) FROM vexel.usage_by_hour)::int AS requests,
           (SELECT nanos::float8 / 1e9 FROM vexel.spent WHERE id = 'file:ci' AND period = '2026-01') AS dollars`,
      );
    expect(await sums()).toEqual([{ rows: rows.length, requests: rows.length, dollars: 0.25 }]);

    expect(
      await server.execute(
        databaseName(databaseUrl),
        `SELECT jobs.status, jobs.completed, ranges.position, ranges.settled
         FROM vexel.jobs JOIN vexel.job_ranges AS ranges ON ranges.job_id = jobs.id`,
      ),
    ).toEqual([{ status: "in_progress", completed: 3, position: 42, settled: 3 }]);

    const again = await vexel(["db", "move"], { cwd: folder.path, env });
    expect(again.code).toBe(1);
    expect(again.err).toContain("is not empty");

    // The ledger of the data folder stays as it is.
    const replica = await start({ folder: folder.path, name: "a", databaseUrl });
    const headers = { authorization: `Bearer ${key}` };
    expect((await fetch(`${replica.url}/v1/models`, { headers })).status).toBe(200);
    replica.kill("SIGTERM");
    await replica.exited;
    expect(rowsIn(data)).toHaveLength(rows.length);
    expect(await sums()).toEqual([{ rows: rows.length, requests: rows.length, dollars: 0.25 }]);
  },
);
