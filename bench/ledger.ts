/**
 * `npm run bench -- ledger [ROWS]`: a ledger of a million rows. How fast rows are stored, how long lists and usage
 * queries take, and how long the thread that serves requests waits for a row to be settled while queries run.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ledger } from "../server/ledger/ledger.ts";
import { OutboxFile } from "../server/storage/files/outbox.ts";
import type { LedgerListQuery, UsageQuery } from "../server/storage/ports/ledger-queries.ts";
import type { LedgerRow } from "../server/storage/ports/ledger-row.ts";
import { LedgerQueryThread } from "../server/storage/sqlite/ledger-query-thread.ts";
import { SqliteLedgerStore } from "../server/storage/sqlite/ledger-store.ts";

const rowCount = Number(process.argv[2] ?? 1_000_000);
const days = 30;
const dayMs = 86_400_000;
const end = Date.UTC(2026, 10, 15);
const start = end - days * dayMs;
const keyCount = 50;
const queryCount = 200;
const transactionRows = 128;

const pick = (count: number): number => Math.floor(Math.random() * count);

function makeRow(at: number): LedgerRow {
  const failed = pick(50) === 0;
  const tokens = pick(500);
  const model = pick(4);
  // A few keys make most of the requests.
  const key = Math.floor(keyCount * Math.random() ** 3);
  return {
    requestId: `req_${Bun.randomUUIDv7("hex", at).replaceAll("-", "")}`,
    at,
    endpoint: "embeddings",
    keyId: `key_${key}`,
    model: `model-${model}`,
    upstream: `upstream-${model % 2}`,
    targetModel: `target-${model}`,
    attempts: 1,
    status: failed ? 502 : 200,
    error: failed ? "upstream_error" : null,
    latencyMs: 5 + 200 * Math.random() ** 4,
    inputTokens: failed ? null : tokens,
    outputTokens: null,
    images: null,
    bytesIn: 300,
    bytesOut: 8000,
    cachedInputs: pick(2),
    upstreamTokens: failed ? null : tokens,
    cost: failed ? null : tokens * 2e-8,
    steps: null,
    project: key % 2 === 0 ? null : `project-${key % 10}`,
    estimatedCost: null,
    inputs: 1,
    timeline: '{"a":[[0.4,32.1]]}',
  };
}

const percentile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;

const ms = (value: number): string => `${value.toFixed(1)} ms`;

async function timesOf(count: number, run: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let at = 0; at < count; at++) {
    const from = performance.now();
    await run();
    times.push(performance.now() - from);
  }
  return times.sort((a, b) => a - b);
}

const summary = (times: readonly number[]): string =>
  `p50 ${ms(percentile(times, 0.5))}, p99 ${ms(percentile(times, 0.99))}`;

function fill(store: SqliteLedgerStore): void {
  let written = 0;
  let [cpu, wall] = [0, 0];
  while (written < rowCount) {
    const rows = Array.from({ length: Math.min(transactionRows, rowCount - written) }, (_, at) =>
      makeRow(Math.floor(start + ((written + at) / rowCount) * days * dayMs)),
    );
    const [usedBefore, from] = [process.cpuUsage(), performance.now()];
    store.write(rows);
    const used = process.cpuUsage(usedBefore);
    cpu += used.user + used.system;
    wall += performance.now() - from;
    written += rows.length;
  }
  const rate = Math.round((rowCount / wall) * 1000);
  console.log(
    `${rowCount} rows in transactions of ${transactionRows}: ${rate} rows/s, ${(cpu / rowCount).toFixed(1)} µs of CPU per row`,
  );
}

async function measureQueries(queries: LedgerQueryThread): Promise<void> {
  const lists: Record<string, () => Partial<LedgerListQuery>> = {
    "without a filter": () => ({}),
    "of one key": () => ({ keyId: `key_${pick(keyCount)}` }),
    "of one model, failed": () => ({ model: `model-${pick(4)}`, failed: true }),
    "of a project in one day": () => {
      const from = start + pick(days) * dayMs;
      return { project: `project-${2 * pick(5) + 1}`, from, to: from + dayMs };
    },
    "of a key that has none": () => ({ keyId: "nobody" }),
  };
  for (const [name, filter] of Object.entries(lists)) {
    const times = await timesOf(queryCount, () => queries.list({ limit: 100, ...filter() }));
    console.log(`list of 100 rows ${name}: ${summary(times)}`);
  }
  const whole = { from: start, to: end, limit: 1000 } as const;
  const usages: Record<string, UsageQuery> = {
    "by day, 30 days": { ...whole, interval: "day" },
    "by day and key, 30 days": { ...whole, interval: "day", groupBy: ["keyId"] },
    "by hour of one key, 30 days": { ...whole, interval: "hour", keyId: "key_3" },
    "by model and target, 1 day": {
      ...whole,
      from: end - dayMs,
      interval: "total",
      groupBy: ["model", "upstream", "targetModel"],
    },
  };
  for (const [name, query] of Object.entries(usages)) {
    const times = await timesOf(queryCount / 10, () => queries.usage(query));
    console.log(`usage ${name}: ${summary(times)}`);
  }
}

/** Requests that end one after the other: how long each waits for its row. */
async function measureSettling(folder: string, store: SqliteLedgerStore): Promise<void> {
  const outbox = new OutboxFile({ folder, id: "bench", onError: console.error });
  const ledger = new Ledger({ store, outbox, onError: "refuse", report: () => undefined });
  const settle = () => timesOf(5000, () => ledger.settle(makeRow(end)));
  await settle();
  const alone = await settle();
  const queries = new LedgerQueryThread({ path: store.path });
  let isRunning = true;
  const query = async (): Promise<number> => {
    let count = 0;
    for (; isRunning; count++) {
      await queries.usage({
        from: start,
        to: end,
        interval: "day",
        groupBy: ["keyId"],
        limit: 1000,
      });
    }
    return count;
  };
  const running = query();
  const beside = await settle();
  isRunning = false;
  console.log(
    `settling a row: ${summary(alone)} alone, ${summary(beside)} beside ${await running} usage queries`,
  );
  await queries.close();
  await ledger.close();
  outbox.close();
}

const folder = mkdtempSync(join(tmpdir(), "vexel-bench-ledger-"));
try {
  const store = new SqliteLedgerStore({ folder, maxBytes: 0 });
  fill(store);
  const queries = new LedgerQueryThread({ path: store.path });
  await measureQueries(queries);
  await queries.close();
  await measureSettling(folder, store);
  await store.close();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
