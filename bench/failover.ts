/**
 * `npm run bench -- failover [SECONDS]`: three replicas with 2,000 limited keys, behind PgBouncer in transaction mode.
 * Sentinel replaces the Redis primary, and then a standby of PostgreSQL is promoted, both under load. Each part of the
 * run takes SECONDS, by default 40. Every response is compared with the ledger. Exits with 1 if a row is lost or
 * doubled, if a client gets an unexpected error, or if a limit is exceeded or not used.
 */
import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { openTcpProxy } from "../test/fake-upstream/tcp-proxy.ts";
import { startProcess, temporaryFolder } from "../test/harness.ts";
import { startPgBouncer } from "../test/storage/pgbouncer-server.ts";
import { startPostgresPair } from "../test/storage/postgres-server.ts";
import { startSentinel } from "../test/storage/sentinel-server.ts";
import { until } from "../test/until.ts";
import { checkBudgets, checkLedger, checkRates, checkSlots } from "./failover/checks.ts";
import { Clients } from "./failover/clients.ts";
import { configuration, replicaCount } from "./failover/keys.ts";
import { startUpstream } from "./failover/upstream.ts";

const partMs = Number(process.argv[2] ?? 40) * 1000;
const folder = temporaryFolder();
// PgBouncer runs as another user.
chmodSync(folder.path, 0o755);

const upstream = startUpstream();
const [{ primary, standby, url, database }, redis] = await Promise.all([
  startPostgresPair(),
  startSentinel(folder.path),
]);
// The address of the database stays the same, as that of a managed database.
const address = openTcpProxy(primary.port);
const pgbouncer = await startPgBouncer(folder.path, address, 10);
const replicas = await Promise.all(
  Array.from({ length: replicaCount }, (_, at) => {
    const own = join(folder.path, String(at));
    mkdirSync(own);
    const env = {
      DATABASE_URL: url.replace(`:${primary.port}/`, `:${pgbouncer.port}/`),
      REDIS_URL: redis.url,
      VEXEL_SECRET: "a-secret-of-all-replicas",
    };
    return startProcess({ folder: own, yaml: configuration(upstream.url), env });
  }),
);

const health = async (at: string): Promise<Readonly<Record<string, unknown>>> =>
  (await (await fetch(`${at}/readyz`)).json()) as Record<string, unknown>;
const allAre = async (name: string, value: unknown): Promise<void> => {
  for (const replica of replicas)
    await until(async () => (await health(replica.url))[name] === value);
};
const logged = (event: string): Promise<void> =>
  until(() => replicas.every((replica) => replica.output().includes(`"${event}"`)));
const say = (what: string): void =>
  console.log(`${(performance.now() / 1000).toFixed(0).padStart(4)} s  ${what}`);

await allAre("replicas", replicaCount);
const clients = new Clients(replicas.map((replica) => replica.url));
clients.start();
say("the clients send requests");
await Bun.sleep(partMs);

say("the primary of Redis is killed");
const redisFailedAt = performance.now();
await redis.primary.stop();
await logged("redis-unavailable");
await allAre("redis", "available");
const redisRecoveredAt = performance.now();
say(`all replicas use the promoted Redis after ${Math.round(redisRecoveredAt - redisFailedAt)} ms`);
await Bun.sleep(partMs);

say("the primary of PostgreSQL is killed; its address leads to the standby");
await primary.stop();
address.switchTo(standby.port);
await logged("database-unavailable");
await standby.execute("postgres", "SELECT pg_promote()");
say("the standby is promoted");
await logged("database-recovered");
say("all replicas forward rows to the promoted standby");
await Bun.sleep(partMs);

await clients.stop();
say(`the clients have stopped after ${clients.responses.length} responses`);
const outage = { from: redisFailedAt, to: redisRecoveredAt };
const query = <Row>(statement: string): Promise<Row[]> => standby.execute<Row>(database, statement);
const ledger = await checkLedger(clients, query);
const checks = [
  ledger,
  ...checkRates(clients.responses, outage),
  checkSlots(upstream.slots, outage),
  checkBudgets(clients.responses, ledger.costs),
];
for (const { text, broken } of checks)
  console.log([text, ...broken.map((what) => `  BROKEN: ${what}`)].join("\n"));

for (const replica of replicas) await replica.close();
await pgbouncer.stop();
await redis.stop();
await standby.stop();
address.close();
upstream.close();
folder[Symbol.dispose]();
const isBroken = checks.some(({ broken }) => broken.length > 0);
console.log(isBroken ? "\nBroken." : "\nEverything held.");
process.exit(isBroken ? 1 : 0);
