/**
 * `npm run bench -- ledger-outage [ROWS]`: the ledger of one replica without PostgreSQL, and then with it again. By
 * default 1.8 million rows, which 500 requests a second write in an hour, in a few minutes. The longest step and the
 * memory are those of this process, which also makes the rows.
 */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { openLedger } from "../server/ledger/open-ledger.ts";
import { createLog } from "../server/lib/log.ts";
import { untimed } from "../server/lib/time-call.ts";
import { openSharedStorage } from "../server/storage/postgres/shared-storage.ts";
import { openTcpProxy } from "../test/fake-upstream/tcp-proxy.ts";
import { temporaryFolder } from "../test/harness.ts";
import { databaseName, sharedPostgres } from "../test/storage/postgres-server.ts";
import { makeRow } from "./ledger-rows.ts";
import { rssMegabytes } from "./proc.ts";

const rowCount = Number(process.argv[2] ?? 1_800_000);
/** Requests that end in one turn, and the pause after it: about 20 times as fast as the hour. */
const [turnRows, pauseMs] = [200, 16] as const;
/** Before the outage, for a comparison. */
const beforeRows = Math.min(50_000, rowCount / 10);

using folder = temporaryFolder();
const server = await sharedPostgres();
const url = new URL(await server.createDatabase());
const address = openTcpProxy(Number(url.port));
url.port = String(address.port);
const clock = () => performance.now();
const log = createLog({
  level: "warn",
  format: "text",
  now: () => new Date(),
  write: (text) => void process.stdout.write(text),
});
const shared = await openSharedStorage({
  ...{ url: url.href, readUrl: "", poolSize: 4, folder: folder.path, timeCall: untimed },
  ...{ log, now: Date.now, clock },
});
const resources = new AsyncDisposableStack();
const { ledger, forwarding } = openLedger({
  ...{ folder: folder.path, maxBytes: 0, days: 30, onError: "refuse", shared, exportTo: undefined },
  ...{ log, emit: () => undefined, now: Date.now, clock, resources },
});
const backlog = (): number => forwarding?.backlog() ?? 0;

/** Milliseconds for which this thread was ready to run and waited for a core. */
const waitedMs = (): number =>
  Number(readFileSync("/proc/thread-self/schedstat", "latin1").split(" ")[1]) / 1e6;

/** The time between two turns of the event loop, without the time of other programs. */
let steps: number[] = [];
let [turnAt, waited] = [clock(), waitedMs()];
setInterval(() => {
  const [now, waitedNow] = [clock(), waitedMs()];
  steps.push(now - turnAt - (waitedNow - waited));
  [turnAt, waited] = [now, waitedNow];
}, 1);

const megabytes = (): number => {
  Bun.gc(true);
  return rssMegabytes(process.pid, (pid) => [pid]);
};

let peak = 0;
function report(what: string, rows: number, tookMs: number, before: number): void {
  steps.sort((a, b) => a - b);
  const [longest, p999] = [steps.at(-1) ?? 0, steps[Math.floor(steps.length * 0.999)] ?? 0];
  const after = megabytes();
  console.log(
    `${what}: ${rows} rows in ${(tookMs / 1000).toFixed(0)} s (${Math.round((rows * 1000) / tookMs)} a second); memory ${before.toFixed(0)} MB before, ${peak.toFixed(0)} at most, ${after.toFixed(0)} after; steps p99.9 ${p999.toFixed(1)} ms, longest ${longest.toFixed(1)} ms`,
  );
  steps = [];
}

async function feed(rows: number): Promise<void> {
  for (let sent = 0; sent < rows; sent += turnRows) {
    const now = Date.now();
    await Promise.all(Array.from({ length: turnRows }, () => ledger.settle(makeRow(now))));
    await Bun.sleep(pauseMs);
    if (sent % 5000 === 0)
      peak = Math.max(
        peak,
        rssMegabytes(process.pid, (pid) => [pid]),
      );
  }
}

async function drained(): Promise<void> {
  while (backlog() > 0) {
    peak = Math.max(
      peak,
      rssMegabytes(process.pid, (pid) => [pid]),
    );
    await Bun.sleep(100);
  }
}

await feed(beforeRows);
await drained();
const before = megabytes();
[steps, peak] = [[], 0];
let from = clock();
await feed(beforeRows);
await drained();
report("with PostgreSQL", beforeRows, clock() - from, before);

// Nothing listens there.
address.switchTo(9);
[from, peak] = [clock(), 0];
await feed(rowCount);
report("without PostgreSQL", rowCount, clock() - from, before);
const bytes = statSync(join(folder.path, "backlog.db")).size;
console.log(`backlog: ${backlog()} rows, ${Math.round(bytes / backlog())} bytes each`);

address.switchTo(server.port);
[from, peak] = [clock(), 0];
await drained();
report("PostgreSQL is back", rowCount, clock() - from, before);
const [stored] = await server.execute<{ rows: string }>(
  databaseName(url.href),
  "SELECT count(*) AS rows FROM vexel.ledger",
);
console.log(`rows stored: ${stored?.rows}, expected: ${rowCount + 2 * beforeRows}`);
await resources.disposeAsync();
await shared.close();
address.close();
process.exit(0);
