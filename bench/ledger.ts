/**
 * `npm run bench -- ledger [ROWS]`: a ledger of five million rows. How fast rows are stored, how long lists and usage
 * queries take, and how much longer a row takes to settle, which every response waits for, while queries run.
 */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ledger } from "../server/ledger/ledger.ts";
import { OutboxFile } from "../server/storage/files/outbox.ts";
import type { LedgerListQuery, UsageQuery } from "../server/storage/ports/ledger-queries.ts";
import { LedgerQueryThread } from "../server/storage/sqlite/ledger-query-thread.ts";
import { SqliteLedgerStore } from "../server/storage/sqlite/ledger-store.ts";
import {
  dayMs,
  days,
  end,
  generateRows,
  keyCount,
  makeRow,
  modelCount,
  projectCount,
  start,
} from "./ledger-rows.ts";

const rowCount = Number(process.argv[2] ?? 5_000_000);
const queryCount = 20;
const transactionRows = 128;
/** The limits of the product: how long a list or chart may take, and by how much its query may delay a request. */
const [maxQueryMs, maxDelayMs] = [300, 5];

const pick = (count: number): number => Math.floor(Math.random() * count);

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

/** The cost of storing a row while the ledger is large. */
function measureWrites(store: SqliteLedgerStore): void {
  const count = 25_600;
  let cpu = 0;
  for (let written = 0; written < count; written += transactionRows) {
    const rows = Array.from({ length: transactionRows }, () => makeRow(end + written));
    const usedBefore = process.cpuUsage();
    store.write(rows);
    const used = process.cpuUsage(usedBefore);
    cpu += used.user + used.system;
  }
  console.log(
    `storing a row in a transaction of ${transactionRows}: ${(cpu / count).toFixed(1)} µs of CPU`,
  );
}

const lists: Record<string, () => Partial<LedgerListQuery>> = {
  "without a filter": () => ({}),
  "of one key": () => ({ keyId: `key_${pick(keyCount)}` }),
  "of a key with 10 rows": () => ({ keyId: "key_rare" }),
  "of a key that has none": () => ({ keyId: "nobody" }),
  "of one model, failed": () => ({ model: `model-${pick(modelCount)}`, failed: true }),
  "of a key and a model": () => ({
    keyId: `key_${pick(keyCount)}`,
    model: `model-${pick(modelCount)}`,
  }),
  "of two projects in one day": () => {
    const from = start + pick(days) * dayMs;
    const projects = [`project-${pick(projectCount)}`, `project-${pick(projectCount)}`];
    return { projects, from, to: from + dayMs };
  },
  "with a rare error kind": () => ({ error: "content_policy_violation" }),
  "with status 429": () => ({ status: { min: 429, max: 429 } }),
  "slower than a minute": () => ({ latencyMs: { min: 60_000 } }),
  "of one key, slower than 190 ms": () => ({
    keyId: `key_${pick(keyCount)}`,
    latencyMs: { min: 190 },
  }),
  "that cost more than a dollar": () => ({ cost: { min: 1 } }),
  "of a model in a project, between two costs": () => ({
    model: "model-1",
    projects: ["project-3"],
    cost: { min: 0.000001, max: 0.0000011 },
  }),
  "by request id": () => ({ requestId: "req_none" }),
};

const whole = { from: start, to: end, limit: 1000 } as const;
const usages: Record<string, UsageQuery> = {
  "by day, 30 days": { ...whole, interval: "day" },
  "by hour, 30 days": { ...whole, interval: "hour" },
  "by day and key, 30 days": { ...whole, interval: "day", groupBy: ["keyId"] },
  "by day and model, 30 days": { ...whole, interval: "day", groupBy: ["model"] },
  "by hour of one key, 30 days": { ...whole, interval: "hour", keyId: "key_3" },
  "by hour and model, 1 day": {
    ...whole,
    from: end - dayMs,
    interval: "hour",
    groupBy: ["model"],
  },
  "in total by key, 30 days": { ...whole, interval: "total", groupBy: ["keyId"] },
  "by project, model and target in total, 30 days": {
    ...whole,
    interval: "total",
    groupBy: ["project", "model", "upstream", "targetModel"],
  },
};

function report(name: string, times: readonly number[], note = ""): void {
  const isSlow = percentile(times, 0.99) > maxQueryMs;
  console.log(
    `${name}: ${summary(times)}${note}${isSlow ? `  MISSED: above ${maxQueryMs} ms` : ""}`,
  );
}

async function measureQueries(queries: LedgerQueryThread): Promise<void> {
  for (const [name, filter] of Object.entries(lists)) {
    let [entries, unfinished] = [0, 0];
    const times = await timesOf(queryCount, async () => {
      const page = await queries.list({ limit: 100, ...filter() });
      entries += page.entries.length;
      if (page.scannedUntil !== undefined) unfinished++;
    });
    const note = `, ${Math.round(entries / queryCount)} rows${unfinished > 0 ? `, ${unfinished} of ${queryCount} pages ended early` : ""}`;
    report(`list of 100 rows ${name}`, times, note);
  }
  for (const [name, query] of Object.entries(usages)) {
    report(`usage ${name}`, await timesOf(queryCount, () => queries.usage(query)));
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
  const delay = percentile(beside, 0.5) - percentile(alone, 0.5);
  console.log(
    `settling a row: ${summary(alone)} alone, ${summary(beside)} beside ${await running} usage queries${delay > maxDelayMs ? `  MISSED: above ${maxDelayMs} ms` : ""}`,
  );
  await queries.close();
  await ledger.close();
  outbox.close();
}

const folder = mkdtempSync(join(tmpdir(), "vexel-bench-ledger-"));
try {
  const generated = performance.now();
  const store = new SqliteLedgerStore({ folder, maxBytes: 0 });
  generateRows(store, rowCount);
  console.log(
    `${rowCount} rows stored in ${ms(performance.now() - generated)}; ${Math.round(statSync(store.path).size / 1e6)} MB`,
  );
  const queries = new LedgerQueryThread({ path: store.path });
  await measureQueries(queries);
  await queries.close();
  measureWrites(store);
  await measureSettling(folder, store);
  await store.close();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
