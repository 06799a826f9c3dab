/**
 * `npm run bench -- postgres-appends [WRITERS]`: how long replicas wait for each other at the sums of owners that they
 * have in common. Each writer appends 250 rows every half second, or every tenth of a second, of one project and forty
 * API keys; without a cost, no sum is changed.
 */
import { PostgresDatabase } from "../server/storage/postgres/database.ts";
import { PostgresLedgerStore } from "../server/storage/postgres/ledger-store.ts";
import { sharedPostgres } from "../test/storage/postgres-server.ts";
import { end, makeRow } from "./ledger-rows.ts";
import { cpuMs } from "./proc.ts";

const writers = Number(process.argv[2] ?? 20);
const [batchRows, keys, seconds, rounds] = [250, 40, 8, 3];
const server = await sharedPostgres();

const percentile = (sorted: readonly number[], share: number): string =>
  (sorted[Math.floor(sorted.length * share)] ?? Number.NaN).toFixed(0);

async function measure(everyMs: number, cost: number | null): Promise<void> {
  const url = await server.createDatabase();
  const stores = Array.from({ length: writers }, () => {
    const db = new PostgresDatabase({ url, now: Date.now, maxConnections: 2, timeoutMs: 60_000 });
    return { db, store: new PostgresLedgerStore(db) };
  });
  const rowsOf = () =>
    Array.from({ length: batchRows }, (_, at) => ({
      ...makeRow(end),
      keyId: `key_${at % keys}`,
      project: "shared",
      cost,
    }));
  for (const { store } of stores) await store.append(rowsOf());
  const took: number[] = [];
  const cpuBefore = cpuMs(server.pid ?? 0);
  const from = performance.now();
  await Promise.all(
    stores.map(async ({ store }, writer) => {
      await Bun.sleep((everyMs * writer) / writers);
      for (
        let next = performance.now();
        performance.now() - from < seconds * 1000;
        next += everyMs
      ) {
        await Bun.sleep(Math.max(0, next - performance.now()));
        const rows = rowsOf();
        const sentAt = performance.now();
        await store.append(rows);
        took.push(performance.now() - sentAt);
      }
    }),
  );
  const perSecond = (took.length * batchRows * 1000) / (performance.now() - from);
  const us = ((cpuMs(server.pid ?? 0) - cpuBefore) * 1000) / (took.length * batchRows);
  took.sort((a, b) => a - b);
  console.log(
    `${writers} writers every ${everyMs} ms, ${cost === null ? "without sums" : "with sums"}: ${Math.round(perSecond)} rows/s, ${((took.length * 1000) / (performance.now() - from)).toFixed(0)} appends/s, p50 ${percentile(took, 0.5)} ms, p99 ${percentile(took, 0.99)} ms, ${us.toFixed(1)} µs of PostgreSQL's CPU per row`,
  );
  for (const { db } of stores) await db.close();
}

for (let round = 0; round < rounds; round++)
  for (const everyMs of [500, 100])
    for (const cost of [null, 0.00002]) await measure(everyMs, cost);
process.exit(0);
