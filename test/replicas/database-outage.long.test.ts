/** A database outage loses no ledger row and stops no client. */
import { afterAll, afterEach, expect } from "bun:test";
import { SQL } from "bun";
import { startFake } from "../fake-upstream.ts";
import { temporaryFolder } from "../harness.ts";
import { databaseName, sharedPostgres, testWithPostgres } from "../storage/postgres-server.ts";
import { until } from "../until.ts";
import { replicaStarter, sharedRows, startLoad } from "./replica-fixture.ts";

const fake = startFake();
afterAll(() => fake.close());
const start = replicaStarter(fake.url);
afterEach(async () => {
  // The other tests of this process use it as well.
  const server = await sharedPostgres();
  if (server.pid === undefined) await server.start();
});

/** Replicas with an empty database. */
async function startReplicas(folder: string, names: readonly string[]) {
  const server = await sharedPostgres();
  const databaseUrl = await server.createDatabase();
  const replicas = await Promise.all(names.map((name) => start({ folder, name, databaseUrl })));
  return { server, databaseUrl, replicas };
}

testWithPostgres("slow queries of the console hold back no ledger row", async () => {
  using folder = temporaryFolder();
  const server = await sharedPostgres();
  const databaseUrl = await server.createDatabase();
  const token = "an-admin-token-of-this-test";
  const env = { VEXEL_ADMIN_TOKEN: token };
  const gateway = await start({ folder: folder.path, name: "a", databaseUrl, env });
  await using sql = new SQL({ url: databaseUrl, max: 1 });
  await using lock = await sql.reserve();
  await lock.unsafe("BEGIN; LOCK TABLE vexel.usage_by_hour_without_key IN ACCESS EXCLUSIVE MODE");
  let ended = 0;
  const queries = Array.from({ length: 10 }, async () => {
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(`${gateway.url}/admin/api/usage`, { headers });
    ended++;
    return response.status;
  });
  const waiting = `SELECT FROM pg_locks WHERE NOT granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
  await until(async () => (await server.execute(databaseName(databaseUrl), waiting)).length > 0);
  const load = startLoad([gateway.url], 2);
  await until(() => load.completed.length > 20);
  await load.stop();
  await until(async () => (await sharedRows(server, databaseUrl)).length >= load.completed.length);
  expect(ended).toBe(0);
  await lock.unsafe("COMMIT");
  expect(await Promise.all(queries)).toEqual(queries.map(() => 200));
});

testWithPostgres(
  "the rows of a gateway that is killed during an outage, which /readyz reports, reach the database after its restart, once",
  async () => {
    using folder = temporaryFolder();
    const { server, databaseUrl, replicas } = await startReplicas(folder.path, ["a"]);
    const [victim] = replicas;
    if (!victim) throw new Error("there is no replica");
    const load = startLoad([victim.url], 4);
    await until(() => load.completed.length > 50);
    await server.stop();
    const before = load.completed.length;
    await until(() => load.completed.length > before + 100);
    await until(() => victim.output().includes("database-unavailable"));
    const ready = await fetch(`${victim.url}/readyz`);
    expect(await ready.json()).toMatchObject({ status: "ready", database: "unavailable" });
    expect(load.failed).toEqual([]);
    await victim.close();
    await load.stop();
    // The database is still away: the restarted gateway serves from the copy of the configuration.
    const restarted = await start({ folder: folder.path, name: "a", databaseUrl });
    const more = startLoad([restarted.url], 4);
    await until(() => more.completed.length > 50);
    await more.stop();
    expect(more.failed).toEqual([]);
    await server.start();
    const completed = [...load.completed, ...more.completed];
    await until(async () => {
      const rows = new Set(await sharedRows(server, databaseUrl));
      return completed.every((id) => rows.has(id));
    });
    const rows = await sharedRows(server, databaseUrl);
    expect(new Set(rows).size).toBe(rows.length);
  },
);
