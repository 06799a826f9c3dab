/** Migrations of PostgreSQL: several replicas at once, versions side by side, and a database that does not respond. */
import { expect } from "bun:test";
import { join } from "node:path";
import { version } from "../../package.json";
import { PostgresDatabase } from "../../server/storage/postgres/database.ts";
import type { PostgresMigration } from "../../server/storage/postgres/migrate.ts";
import { postgresMigrations } from "../../server/storage/postgres/migrations/index.ts";
import { closeAfterEach } from "../clean-up.ts";
import { until } from "../until.ts";
import { databaseName, sharedPostgres, testWithPostgres } from "./postgres-server.ts";

const closing = closeAfterEach();

function connect(url: string, migrations = postgresMigrations): PostgresDatabase {
  const db = new PostgresDatabase({ url, now: () => 1, migrations, maxConnections: 2 });
  closing(db);
  return db;
}

const added: PostgresMigration = {
  name: "9999-added",
  statements: ["CREATE TABLE vexel.added (id TEXT PRIMARY KEY)"],
};

testWithPostgres("eight replicas that start at once apply each migration once", async () => {
  const server = await sharedPostgres();
  const url = await server.createDatabase();
  const replicas = Array.from({ length: 8 }, () => connect(url));
  await Promise.all(replicas.map((replica) => replica.migrate()));
  const rows = await server.execute<{ name: string }>(
    databaseName(url),
    "SELECT name FROM vexel.schema_migrations ORDER BY number",
  );
  expect(rows.map(({ name }) => name)).toEqual(postgresMigrations.map(({ name }) => name));
});

testWithPostgres("a replica of the previous version works beside a newer one", async () => {
  const url = await (await sharedPostgres()).createDatabase();
  await connect(url, [...postgresMigrations, added]).migrate();
  const earlier = connect(url);
  expect((await earlier.query("SELECT * FROM vexel.keys")).rows).toEqual([]);
});

testWithPostgres("open connections work after a newer version has added a column", async () => {
  const url = await (await sharedPostgres()).createDatabase();
  const earlier = new PostgresDatabase({ url, now: () => 1, maxConnections: 1 });
  closing(earlier);
  const read = () =>
    earlier.transaction((queries) =>
      queries.query("SELECT * FROM vexel.keys WHERE id = $1", ["a"]),
    );
  for (let time = 0; time < 3; time++) await read();
  const statements = ["ALTER TABLE vexel.keys ADD COLUMN added TEXT"];
  await connect(url, [...postgresMigrations, { ...added, statements }]).migrate();
  expect((await read()).rows).toEqual([]);
});

testWithPostgres("a version that the schema no longer supports refuses to run", async () => {
  const url = await (await sharedPostgres()).createDatabase();
  const requires = postgresMigrations.length + 1;
  await connect(url, [...postgresMigrations, { ...added, requires }]).migrate();
  await expect(connect(url).migrate()).rejects.toThrow(
    `another build of Vexel ${version} migrated it last: this build does not have its migration "9999-added"`,
  );
});

testWithPostgres("a migration that fails changes nothing and is applied again", async () => {
  const server = await sharedPostgres();
  const url = await server.createDatabase();
  const broken = {
    name: "9999-broken",
    statements: [...added.statements, "SELECT * FROM nothing"],
  };
  const db = connect(url, [broken]);
  await expect(db.migrate()).rejects.toThrow("nothing");
  await server.execute(databaseName(url), "CREATE TABLE public.nothing (id TEXT)");
  await db.migrate();
  expect((await db.query("SELECT * FROM vexel.added")).rows).toEqual([]);
});

testWithPostgres(
  "a migration is applied again after a deadlock with a replica that serves",
  async () => {
    const url = await (await sharedPostgres()).createDatabase();
    const earlier = connect(url);
    await earlier.migrate();
    const lock = (table: string) => `LOCK TABLE vexel.${table} IN ACCESS EXCLUSIVE MODE`;
    const { promise: locked, resolve: onLocked } = Promise.withResolvers<void>();
    const serving = earlier.transaction(async (queries) => {
      await queries.query(lock("users"));
      onLocked();
      // The migration waits first, so it is the one that PostgreSQL aborts.
      await Bun.sleep(600);
      await queries.query(lock("keys"));
    });
    await locked;
    const statements = [lock("keys"), lock("users"), ...added.statements];
    const newer = connect(url, [...postgresMigrations, { ...added, statements }]);
    await Promise.all([newer.migrate(), serving]);
    expect((await newer.query("SELECT * FROM vexel.added")).rows).toEqual([]);
  },
);

testWithPostgres(
  "a query of a database that does not respond fails, and the next one succeeds when it responds again",
  async () => {
    const server = await sharedPostgres();
    const url = await server.createDatabase();
    const db = new PostgresDatabase({ url, now: () => 1, timeoutMs: 1000, maxConnections: 1 });
    closing(db);
    await db.migrate();
    const blocker = connect(url);
    const { promise: end, resolve } = Promise.withResolvers<void>();
    const { promise: locked, resolve: onLocked } = Promise.withResolvers<void>();
    const blocking = blocker.transaction(async (queries) => {
      await queries.query("LOCK TABLE vexel.keys IN ACCESS EXCLUSIVE MODE");
      onLocked();
      await end;
    });
    await locked;
    await expect(db.query("SELECT * FROM vexel.keys")).rejects.toMatchObject({
      kind: "storage_unavailable",
    });
    resolve();
    await blocking;
    expect((await db.query("SELECT * FROM vexel.keys")).rows).toEqual([]);
  },
);

testWithPostgres(
  "a database that is read-only, as during a failover, is unavailable, and is used again when it is writable",
  async () => {
    const server = await sharedPostgres();
    const url = await server.createDatabase();
    await connect(url).migrate();
    const isReadOnly = `ALTER DATABASE ${databaseName(url)} SET default_transaction_read_only`;
    await server.execute("postgres", `${isReadOnly} = on`);
    const unavailable = { kind: "storage_unavailable" };
    await expect(connect(url).migrate()).rejects.toMatchObject(unavailable);
    await server.execute("postgres", `${isReadOnly} = off`);
    // One connection, so that the write below uses the session that becomes read-only.
    const running = new PostgresDatabase({ url, now: () => 1, maxConnections: 1 });
    closing(running);
    await running.migrate();
    // The setting of the database applies to new sessions only, and sessions keep it.
    await running.query("SET default_transaction_read_only = on");
    const write = () => running.query("DELETE FROM vexel.keys");
    await expect(write()).rejects.toMatchObject(unavailable);
    expect((await write()).count).toBe(0);
  },
);

/** Holds a lock that queries of `table` wait for, until `release` is called. */
async function lockTable(url: string, table: string) {
  const { promise: end, resolve: release } = Promise.withResolvers<void>();
  const { promise: locked, resolve: onLocked } = Promise.withResolvers<void>();
  const blocking = connect(url).transaction(async (queries) => {
    await queries.query(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
    onLocked();
    await end;
  });
  await locked;
  return async () => {
    release();
    await blocking;
  };
}

testWithPostgres("a query that times out does not fail other queries", async () => {
  const url = await (await sharedPostgres()).createDatabase();
  const db = new PostgresDatabase({ url, now: () => 1, timeoutMs: 4000, maxConnections: 4 });
  closing(db);
  await db.migrate();
  const releaseKeys = await lockTable(url, "vexel.keys");
  const releaseUsers = await lockTable(url, "vexel.users");
  const slow = db.query("SELECT * FROM vexel.keys");
  await Bun.sleep(2000);
  const other = db.query("SELECT * FROM vexel.users");
  await expect(slow).rejects.toMatchObject({ kind: "storage_unavailable" });
  await releaseUsers();
  expect((await other).rows).toEqual([]);
  await releaseKeys();
});

testWithPostgres(
  "queries that take too long are canceled, their connections are used again, and the errors say so",
  async () => {
    const server = await sharedPostgres();
    const url = await server.createDatabase();
    const db = new PostgresDatabase({ url, now: () => 1, timeoutMs: 2000, maxConnections: 4 });
    closing(db);
    await db.migrate();
    const release = await lockTable(url, "vexel.keys");
    const sessions = async (condition: string): Promise<number[]> => {
      const text = `SELECT pid FROM pg_stat_activity WHERE datname = '${databaseName(url)}' AND ${condition} ORDER BY pid`;
      return (await server.execute<{ pid: number }>("postgres", text)).map(({ pid }) => pid);
    };
    const read = () => db.query("SELECT * FROM vexel.keys").then(String, (error: Error) => error);
    const slow = Array.from({ length: 12 }, read);
    await until(async () => (await sessions("wait_event_type = 'Lock'")).length === 4);
    const before = await sessions("query LIKE '%vexel.keys%'");
    for (const error of await Promise.all(slow)) {
      expect(error).toMatchObject({ kind: "storage_unavailable" });
      const [canceled, queued] = ["took longer than 2 s and was canceled", "was free within 2 s"];
      expect(String(error)).toMatch(new RegExp(`${canceled}|${queued}`));
    }
    await until(async () => (await sessions("wait_event_type = 'Lock'")).length === 0);
    expect(await sessions("query LIKE '%vexel.keys%'")).toEqual(before);
    await release();
    expect((await db.query("SELECT * FROM vexel.keys")).rows).toEqual([]);
  },
);

testWithPostgres("a transaction that times out is not committed", async () => {
  const url = await (await sharedPostgres()).createDatabase();
  const db = new PostgresDatabase({ url, now: () => 1, timeoutMs: 1000, maxConnections: 1 });
  closing(db);
  await db.migrate();
  const { promise: continued, resolve: onContinued } = Promise.withResolvers<void>();
  const slow = db.transaction(async (queries) => {
    await queries.query("INSERT INTO vexel.marks VALUES ('slow', 1)");
    await Bun.sleep(2000);
    onContinued();
  });
  await expect(slow).rejects.toMatchObject({ kind: "storage_unavailable" });
  await continued;
  await Bun.sleep(300);
  expect((await db.query("SELECT * FROM vexel.marks WHERE name = 'slow'")).rows).toEqual([]);
});

testWithPostgres(
  "queries of a process that is paused for longer than their timeout succeed",
  async () => {
    const server = await sharedPostgres();
    const url = await server.createDatabase();
    const script = join(import.meta.dir, "query-while-paused.ts");
    const child = Bun.spawn([process.execPath, script, url], { stdout: "pipe", stderr: "inherit" });
    const running = `SELECT pid FROM pg_stat_activity
      WHERE datname = '${databaseName(url)}' AND query LIKE '%pg_sleep(2)%' AND state = 'active'`;
    await until(async () => (await server.execute("postgres", running)).length === 3);
    child.kill("SIGSTOP");
    await Bun.sleep(4000);
    child.kill("SIGCONT");
    expect(await child.stdout.text()).toBe("fulfilled, fulfilled, fulfilled\n");
  },
);
