/**
 * `npm run bench -- postgres-ledger [ROWS] [SUMS]`: the ledger in PostgreSQL. How many rows per second one writer and
 * twenty store, with the roll-ups of these rows; the write-ahead log of a row; and how long lists and usage queries take
 * with five million rows and ten million hourly sums of 10,000 keys.
 */
import { PostgresDatabase } from "../server/storage/postgres/database.ts";
import { createDay, dayOf } from "../server/storage/postgres/ledger-partitions.ts";
import { createPostgresLedgerQueries } from "../server/storage/postgres/ledger-queries.ts";
import { PostgresLedgerStore } from "../server/storage/postgres/ledger-store.ts";
import { SharedSpend } from "../server/storage/postgres/shared-spend.ts";
import { sharedPostgres } from "../test/storage/postgres-server.ts";
import { dayMs, days, end, makeRow, start } from "./ledger-rows.ts";
import { cpuMs } from "./proc.ts";

const rowCount = Number(process.argv[2] ?? 5_000_000);
const sumCount = Number(process.argv[3] ?? 10_000_000);
const rounds = 3;
const queryCount = 9;
const [batchRows, batches] = [1000, 120] as const;
const minRowsPerSecond = 15_000;
const server = await sharedPostgres();
const open = (url: string) =>
  new PostgresDatabase({ url, now: Date.now, maxConnections: 2, timeoutMs: 600_000 });

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

async function walBytes(db: PostgresDatabase): Promise<number> {
  const { rows } = await db.query<{ bytes: number }>(
    "SELECT (pg_current_wal_insert_lsn() - '0/0')::float8 AS bytes",
  );
  return rows[0]?.bytes ?? 0;
}

/**
 * Writers that share this process, each with its own connections. One of them rolls up every second, as replicas do.
 * Returns the rows per second.
 */
async function measureWriters(writers: number): Promise<number> {
  const url = await server.createDatabase();
  const stores = Array.from({ length: writers }, () => {
    const db = open(url);
    return { db, store: new PostgresLedgerStore(db) };
  });
  const { db, store } = stores[0] as (typeof stores)[number];
  for (const each of stores) await each.store.append([makeRow(end)]);
  const waiting = Array.from({ length: batches }, (_, batch) =>
    Array.from({ length: batchRows }, (_, at) => makeRow(end + batch * batchRows + at)),
  );
  await db.query("CHECKPOINT");
  const walBefore = await walBytes(db);
  const cpuBefore = cpuMs(server.pid ?? 0);
  const from = performance.now();
  let rollingUp: Promise<void> | undefined;
  const timer = setInterval(() => {
    rollingUp ??= store.rollUp(2000).finally(() => {
      rollingUp = undefined;
    });
  }, 1000);
  await Promise.all(
    stores.map(async ({ store: own }) => {
      for (let rows = waiting.shift(); rows; rows = waiting.shift()) await own.append(rows);
    }),
  );
  clearInterval(timer);
  await rollingUp;
  await store.rollUp();
  const perSecond = (batches * batchRows * 1000) / (performance.now() - from);
  const perRow = (value: number): number => value / (batches * batchRows);
  const us = perRow((cpuMs(server.pid ?? 0) - cpuBefore) * 1000).toFixed(1);
  const wal = perRow((await walBytes(db)) - walBefore).toFixed(0);
  console.log(
    `${writers} writer${writers > 1 ? "s" : ""}: ${Math.round(perSecond)} rows/s, all rolled up; per row ${us} µs of PostgreSQL's CPU and ${wal} bytes of write-ahead log`,
  );
  for (const each of stores) await each.db.close();
  return perSecond;
}

async function measureWrites(): Promise<void> {
  const results = { one: [] as number[], twenty: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    results.one.push(await measureWriters(1));
    results.twenty.push(await measureWriters(20));
  }
  const [one, twenty] = [median(results.one), median(results.twenty)];
  const missed = [
    ...(Math.max(one, twenty) < minRowsPerSecond ? [`below ${minRowsPerSecond} rows/s`] : []),
    ...(twenty < one ? ["20 writers are slower than one"] : []),
  ];
  console.log(
    `median: ${Math.round(one)} rows/s from one writer, ${Math.round(twenty)} from twenty${missed.length > 0 ? `  MISSED: ${missed.join(", ")}` : ""}`,
  );
}

/** Rows of 1,000 keys and hourly sums of 10,000 keys over 30 days, as if they had been appended and rolled up. */
async function generate(db: PostgresDatabase): Promise<void> {
  await db.migrate();
  for (let day = 0; day < days; day++) {
    await db.transaction((queries) => createDay(queries, dayOf(start + day * dayMs)));
    const rows = Math.floor(rowCount / days);
    await db.query(
      `INSERT INTO vexel.ledger (request_id, at, endpoint, key_id, model, upstream, target_model, attempts, status,
         error, latency_ms, input_tokens, bytes_in, bytes_out, cached_inputs, upstream_tokens, cost, project, inputs)
       SELECT 'req_' || to_hex(at) || lpad(to_hex(n), 20, '0'), at, 'embeddings', 'key_' || key, 'model-' || n % 8,
         'upstream-' || n % 4, 'target-' || n % 8, 1, CASE WHEN n % 50 = 0 THEN 502 ELSE 200 END,
         CASE WHEN n % 50 = 0 THEN 'upstream_error' END, 5 + n % 200, n % 500, 300, 8000, n % 2, n % 500,
         (n % 500) * 2e-8, 'project-' || key % 20, 1
       FROM generate_series(0, ${rows - 1}) AS n,
         LATERAL (SELECT ${start + day * dayMs}::bigint + n::bigint * ${dayMs} / ${rows} AS at,
           n * 7919::bigint % 10000 AS key) AS made`,
    );
  }
  const latencies = Array.from({ length: 13 }, (_, at) => `latency_${at}`);
  const perHour = Math.floor(sumCount / days / 24);
  const names = "key_id, project, model, upstream, target_model";
  const sums = `requests, errors, unmetered, unpriced, input_tokens, output_tokens, images, cached_inputs, inputs, cost,
    estimated_cost, latency_ms, ${latencies.join(", ")}`;
  for (let hour = 0; hour < days * 24; hour++) {
    const at = start + hour * 3_600_000;
    await db.query(
      `INSERT INTO vexel.usage_by_hour (hour, ${names}, first_id, last_id, ${sums})
       SELECT ${at}, 'key_' || n % 10000, 'project-' || n % 10000 % 20, 'model-' || (n / 10000 + n) % 8,
         'upstream-' || (n / 10000 + n) % 4, 'target-' || (n / 10000 + n) % 8,
         'req_' || to_hex(${at}::bigint), 'req_' || to_hex(${at + 3_600_000}::bigint),
         7, (n % 50 = 0)::int, 0, 0, 900, 0, 0, 3, 7, 1e-5, 0, 250, ${latencies.map((_, bucket) => (bucket === 3 ? 7 : 0)).join(", ")}
       FROM generate_series(0, ${perHour - 1}) AS n`,
    );
  }
  const summed = `sum(requests), sum(errors), sum(unmetered), sum(unpriced), sum(input_tokens), sum(output_tokens),
    sum(images), sum(cached_inputs), sum(inputs), sum(cost), sum(estimated_cost), sum(latency_ms),
    ${latencies.map((name) => `sum(${name})`).join(", ")}`;
  const withoutKey = "project, model, upstream, target_model";
  await db.query(
    `INSERT INTO vexel.usage_by_hour_without_key (hour, ${withoutKey}, first_id, last_id, ${sums})
     SELECT hour, ${withoutKey}, min(first_id), max(last_id), ${summed} FROM vexel.usage_by_hour GROUP BY hour, ${withoutKey}`,
  );
  for (const [table, columns, source] of [
    ["usage_by_day", names, "usage_by_hour"],
    ["usage_by_day_without_key", withoutKey, "usage_by_hour_without_key"],
  ]) {
    await db.query(
      `INSERT INTO vexel.${table} (day, ${columns}, ${sums})
       SELECT hour - hour % ${dayMs}, ${columns}, ${summed} FROM vexel.${source} GROUP BY 1, ${columns}`,
    );
  }
  await db.query("VACUUM ANALYZE");
}

async function measureQuery(
  name: string,
  mostMs: number,
  run: () => Promise<unknown>,
): Promise<void> {
  const times: number[] = [];
  const cpuBefore = cpuMs(server.pid ?? 0);
  for (let at = 0; at < queryCount; at++) {
    const from = performance.now();
    await run();
    times.push(performance.now() - from);
  }
  const cpu = (cpuMs(server.pid ?? 0) - cpuBefore) / queryCount;
  const [middle, most] = [median(times), Math.max(...times)];
  console.log(
    `${name}: median ${middle.toFixed(0)} ms, at most ${most.toFixed(0)} ms, ${cpu.toFixed(0)} ms of PostgreSQL's CPU${middle > mostMs ? `  MISSED: above ${mostMs} ms` : ""}`,
  );
}

async function measureQueries(): Promise<void> {
  const db = open(await server.createDatabase());
  const generated = performance.now();
  await generate(db);
  console.log(
    `${rowCount} rows and ${sumCount} hourly sums generated in ${Math.round((performance.now() - generated) / 1000)} s`,
  );
  const queries = createPostgresLedgerQueries(db, () => performance.now());
  const store = new PostgresLedgerStore(db);
  // As many rows as wait for the roll-up at 10,000 rows/s.
  for (let at = 0; at < 30; at++) {
    await store.append(Array.from({ length: 1000 }, (_, each) => makeRow(end - 60_000 + each)));
  }
  const whole = { from: start, to: end, limit: 1000 } as const;
  const names = ["keyId", "model"] as const;
  const usages = {
    "by day, key and model": { ...whole, interval: "day", groupBy: names },
    "in total by key and model": { ...whole, interval: "total", groupBy: names },
    "by day and model of one project": {
      ...whole,
      interval: "day",
      project: "project-3",
      groupBy: ["model"],
    },
    "by day": { ...whole, interval: "day" },
    "by hour": { ...whole, interval: "hour" },
    "by hour of one key": { ...whole, interval: "hour", keyId: "key_3" },
  } as const;
  for (const [name, query] of Object.entries(usages)) {
    await measureQuery(`usage ${name}, 30 days`, 1000, () => queries.usage(query));
  }
  const lists = {
    "without a filter": {},
    "of one key": { keyId: "key_3" },
    "of one model, failed": { model: "model-2", failed: true },
    "of one project": { project: "project-3" },
    "of a day three weeks ago": { from: end - 21 * dayMs, to: end - 20 * dayMs },
    "by request id": { requestId: "req_none" },
  };
  for (const [name, filter] of Object.entries(lists)) {
    await measureQuery(`list of 100 rows ${name}`, 300, () =>
      queries.list({ limit: 100, ...filter }),
    );
  }
  const spend = new SharedSpend(db, () => end);
  await measureQuery("refresh of the spending", 300, () => spend.refresh());
  const from = performance.now();
  await store.rollUp();
  console.log(`roll-up of 30,000 rows: ${Math.round(performance.now() - from)} ms`);
  await db.close();
}

await measureWrites();
if (rowCount > 0) await measureQueries();
process.exit(0);
