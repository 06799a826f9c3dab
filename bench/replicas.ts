/**
 * `npm run bench -- replicas [ROWS]`: the load of 1, 3 and 8 replicas on PostgreSQL and Redis, in about five minutes.
 * How fast they forward the ledger rows that waited for the database; and what limits cost that are shared through
 * Redis, with 20, 2,000 and 10,000 limited keys.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LedgerForwarder } from "../server/ledger/ledger-forwarder.ts";
import { PostgresDatabase } from "../server/storage/postgres/database.ts";
import { PostgresLedgerStore } from "../server/storage/postgres/ledger-store.ts";
import { LedgerBacklog } from "../server/storage/sqlite/ledger-backlog.ts";
import { sharedPostgres } from "../test/storage/postgres-server.ts";
import { makeRow } from "./ledger-rows.ts";
import { measureLimitedKeys } from "./limited-keys.ts";
import { cpuMs } from "./proc.ts";
import { endWithParent } from "./processes.ts";

endWithParent(15 * 60_000);
const replicaCounts = [1, 3, 8];
const rowCount = Number(process.argv[2] ?? 60_000);
const minRowsPerSecond = 10_000;
const folder = mkdtempSync(join(tmpdir(), "vexel-replicas-"));
const server = await sharedPostgres();

async function fillBacklog(name: string, rows: number): Promise<LedgerBacklog> {
  const own = join(folder, name);
  mkdirSync(own);
  const store = new LedgerBacklog({ folder: own, maxBytes: 0 });
  const from = Date.now() - rows;
  for (let written = 0; written < rows; written += 500) {
    await store.append(Array.from({ length: 500 }, (_, at) => makeRow(from + written + at)));
  }
  return store;
}

/** The replicas share this process, so its CPU is that of all of them. */
async function measureForwarding(replicas: number): Promise<void> {
  const url = await server.createDatabase();
  const stores = await Promise.all(
    Array.from({ length: replicas }, (_, at) =>
      fillBacklog(`${replicas}-${at}`, rowCount / replicas),
    ),
  );
  const databases = stores.map(() => new PostgresDatabase({ url, now: Date.now }));
  for (const database of databases) await database.migrate();
  const ownBefore = process.cpuUsage();
  const serverBefore = cpuMs(server.pid ?? 0);
  const from = performance.now();
  await Promise.all(
    stores.map(async (backlog, at) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const forwarder = new LedgerForwarder({
        backlog,
        store: new PostgresLedgerStore(databases[at] as PostgresDatabase),
        report: ({ reason }) => console.log(reason),
        reportBacklog: () => undefined,
        setAside: ({ requestId }) => console.log(`rejected: ${requestId}`),
        beforeBatch: async () => {
          if (backlog.size === 0) resolve();
        },
      });
      await promise;
      await forwarder.close();
    }),
  );
  const seconds = (performance.now() - from) / 1000;
  const own = process.cpuUsage(ownBefore);
  const perSecond = rowCount / seconds;
  console.log(
    `${replicas} replica${replicas > 1 ? "s" : ""}: ${Math.round(perSecond)} rows/s, per row ${((own.user + own.system) / rowCount).toFixed(1)} µs of CPU of the gateway and ${(((cpuMs(server.pid ?? 0) - serverBefore) * 1000) / rowCount).toFixed(1)} µs of PostgreSQL${perSecond < minRowsPerSecond ? `  MISSED: below ${minRowsPerSecond}` : ""}`,
  );
  for (const database of databases) await database.close();
  for (const store of stores) await store.close();
}

for (const replicas of replicaCounts) await measureForwarding(replicas);
for (const keys of [20, 2000, 10_000]) await measureLimitedKeys(folder, keys, replicaCounts);
rmSync(folder, { recursive: true, force: true });
process.exit(0);
