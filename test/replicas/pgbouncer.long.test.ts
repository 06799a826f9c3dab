/** PgBouncer in transaction mode: each transaction may run in another session of PostgreSQL. */
import { afterAll, expect } from "bun:test";
import { chmodSync } from "node:fs";
import { startFake } from "../fake-upstream.ts";
import { temporaryFolder } from "../harness.ts";
import { embeddingModel } from "../http/gateway-fixture.ts";
import { vexel } from "../process/process-fixture.ts";
import { testWith } from "../programs.ts";
import { startPgBouncer } from "../storage/pgbouncer-server.ts";
import { databaseName, sharedPostgres } from "../storage/postgres-server.ts";
import { until } from "../until.ts";
import { replicaStarter, sharedRows, sharedSecret, startLoad } from "./replica-fixture.ts";

const fake = startFake();
afterAll(() => fake.close());
const start = replicaStarter(fake.url);

testWith("postgresql", "pgbouncer")(
  "behind PgBouncer in transaction mode, replicas migrate the database, share keys, and forward each ledger row once",
  async () => {
    using folder = temporaryFolder();
    // PgBouncer runs as another user.
    chmodSync(folder.path, 0o755);
    const server = await sharedPostgres();
    const direct = await server.createDatabase();
    // Fewer sessions than connections of the replicas: the sessions are shared.
    const pgbouncer = await startPgBouncer(folder.path, server, 3);
    const databaseUrl = direct.replace(`:${server.port}/`, `:${pgbouncer.port}/`);
    const replicas = await Promise.all(
      ["a", "b"].map((name) => start({ folder: folder.path, name, databaseUrl })),
    );
    const load = startLoad(
      replicas.map(({ url }) => url),
      6,
    );

    const env = { DATABASE_URL: databaseUrl, VEXEL_SECRET: sharedSecret };
    const command = (...args: string[]) => vexel(["keys", ...args], { cwd: folder.path, env });
    const created = await command("create", "--name", "shared");
    const headers = { authorization: `Bearer ${created.out.trim()}` };
    const own: string[] = [];
    const allRespond = (status: number) => async () => {
      const body = { model: embeddingModel, input: "a text" };
      const sent = replicas.map((each) => each.post("/v1/embeddings", body, headers));
      const responses = await Promise.all(sent);
      own.push(...responses.map((each) => each.headers.get("x-request-id") ?? ""));
      return responses.every((response) => response.status === status);
    };
    await until(allRespond(200));
    expect((await command("revoke", "shared")).code).toBe(0);
    await until(allRespond(401));

    await until(() => load.completed.length > 200);
    await load.stop();
    expect(load.failed).toEqual([]);
    const rows = async () =>
      (await sharedRows(server, direct)).filter((id) => !own.includes(id)).toSorted();
    await until(async () => (await rows()).length >= load.completed.length);
    expect(await rows()).toEqual(load.completed.toSorted());
    // The sessions in which this test read the rows end a moment after they are closed.
    const sessions = async () => {
      const [row] = await server.execute<{ count: number }>(
        "postgres",
        `SELECT count(*)::int AS count FROM pg_stat_activity
         WHERE datname = '${databaseName(direct)}' AND backend_type = 'client backend'`,
      );
      return row?.count ?? 0;
    };
    await until(async () => (await sessions()) <= 3);
    expect(await sessions()).toBeGreaterThan(0);
    await pgbouncer.stop();
  },
);
