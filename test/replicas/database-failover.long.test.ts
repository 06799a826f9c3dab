/** A standby of PostgreSQL: it serves the queries of the console, and replaces the primary without a lost ledger row. */
import { afterAll, expect } from "bun:test";
import { openTcpProxy } from "../fake-upstream/tcp-proxy.ts";
import { startFake } from "../fake-upstream.ts";
import { type GatewayProcess, temporaryFolder } from "../harness.ts";
import { startPostgresPair, testWithPostgres } from "../storage/postgres-server.ts";
import { until } from "../until.ts";
import { replicaStarter, sharedRows, startLoad } from "./replica-fixture.ts";

const fake = startFake();
afterAll(() => fake.close());
const start = replicaStarter(fake.url);
const adminToken = "an-admin-token-of-this-test";

async function readAdmin(gateway: GatewayProcess, path: string) {
  const headers = { authorization: `Bearer ${adminToken}` };
  const response = await fetch(`${gateway.url}/admin/api${path}`, { headers });
  return { status: response.status, text: await response.text() };
}

async function requestsInUsage(gateway: GatewayProcess): Promise<number> {
  const { text } = await readAdmin(gateway, "/usage?interval=total");
  return (JSON.parse(text) as { data?: { requests: number }[] }).data?.[0]?.requests ?? 0;
}

testWithPostgres(
  "a standby that is promoted under load has each request in its ledger once, and no client notices",
  async () => {
    using folder = temporaryFolder();
    const { primary, standby, url, database } = await startPostgresPair();
    // The address of the database stays the same, as that of a managed database.
    const proxy = openTcpProxy(primary.port);
    const databaseUrl = url.replace(`:${primary.port}/`, `:${proxy.port}/`);
    const env = { DATABASE_READ_URL: standby.url(database), VEXEL_ADMIN_TOKEN: adminToken };
    const replicas = await Promise.all(
      ["a", "b"].map((name) => start({ folder: folder.path, name, databaseUrl, env })),
    );
    const [gateway] = replicas;
    if (!gateway) throw new Error("there is no replica");
    const load = startLoad(
      replicas.map((replica) => replica.url),
      6,
    );
    const { completed, failed } = load;
    await until(() => completed.length > 100);

    // The console reads the standby: it does not show a row that the standby has not replayed.
    await standby.execute("postgres", "SELECT pg_wal_replay_pause()");
    await until(async () => {
      const [state] = await standby.execute<{ state: string }>(
        "postgres",
        "SELECT pg_get_wal_replay_pause_state() AS state",
      );
      return state?.state === "paused";
    });
    const before = completed.length;
    await until(() => completed.length > before);
    const latest = completed[before] ?? "";
    await until(async () => (await sharedRows(primary, url)).includes(latest));
    expect((await readAdmin(gateway, `/requests/${latest}`)).status).toBe(404);
    await standby.execute("postgres", "SELECT pg_wal_replay_resume()");
    await until(async () => (await readAdmin(gateway, `/requests/${latest}`)).status === 200);

    // The address leads to the standby before it is promoted: it is read-only for a while.
    await primary.stop();
    proxy.switchTo(standby.port);
    await until(() =>
      replicas.every((replica) => replica.output().includes("database-unavailable")),
    );
    const during = completed.length;
    await until(() => completed.length > during + 100);
    await standby.execute("postgres", "SELECT pg_promote()");
    const after = completed.length;
    await until(() => completed.length > after + 100);
    await load.stop();
    expect(failed).toEqual([]);
    const promoted = standby.url(database);
    await until(async () => (await sharedRows(standby, promoted)).length >= completed.length);
    expect((await sharedRows(standby, promoted)).toSorted()).toEqual(completed.toSorted());
    await until(async () => (await requestsInUsage(gateway)) >= completed.length);
    expect(await requestsInUsage(gateway)).toBe(completed.length);

    // Without the read replica the queries of the console fail, and do not burden the primary.
    await standby.stop();
    const { status, text } = await readAdmin(gateway, "/requests");
    expect(status).toBe(503);
    expect(text).toContain("(DATABASE_READ_URL) cannot be reached");
    proxy.close();
  },
);
