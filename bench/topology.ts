/**
 * `npm run topology [-- MINUTES]`: three replicas with PostgreSQL and Redis behind nginx, under a steady load of SDK
 * clients, with one fault after the other. Prints which promises held, and counts and explains every error of a client.
 */
import { checkLedger } from "../test/topology/checks.ts";
import { faults, isPossibleIn } from "../test/topology/faults.ts";
import { Load } from "../test/topology/load.ts";
import { explain, runFault } from "../test/topology/run-fault.ts";
import { startTopology } from "../test/topology/topology.ts";

const minutes = Number(process.argv[2] ?? 4);
/** Longer than the timeouts of the connections to PostgreSQL (10 s). */
const pace = { requests: 200, ms: 12_000, maxRevocationMs: 1000 };

const topology = await startTopology();
const load = new Load(topology);
load.start(6, 3, 30);
const end = performance.now() + minutes * 60_000;
const broken: string[] = [];
let runs = 0;
while (runs === 0 || performance.now() < end) {
  for (const fault of faults) {
    if (!isPossibleIn(topology, fault)) continue;
    const report = await runFault(topology, load, fault, pace).catch(async (error) => {
      await topology.close();
      throw error;
    });
    broken.push(...report.broken.map((what) => `${report.fault}: ${what}`));
    console.log(
      [
        `${report.broken.length === 0 ? "held  " : "BROKEN"} ${report.fault}`,
        `       ${report.seconds.toFixed(0)} s, ${report.responses} responses, ${report.admitted} of 120 requests admitted by a limit of 60, a revoked key refused everywhere after ${report.revocationMs.toFixed(0)} ms`,
        ...(report.note === undefined ? [] : [`       ${report.note}`]),
        ...report.broken.map((what) => `       ${what}`),
      ].join("\n"),
    );
  }
  runs++;
}
await load.stop();
const ledger = await checkLedger(topology, load);
const errors = explain(faults, load.errors);
const failedCalls = explain(faults, load.failedCalls);
console.log(
  [
    `\n${load.requestIds.size} completed requests, ${load.images} images, ${ledger.rows} ledger rows, ${load.wrong.length} wrong responses`,
    `\nErrors of single requests, ${load.errors.length}:`,
    ...[...errors.explained].map(([text, count]) => `  ${count} × ${text}`),
    `\nCalls that failed after the retries of the SDK, ${load.failedCalls.length}:`,
    ...[...failedCalls.explained].map(([text, count]) => `  ${count} × ${text}`),
  ].join("\n"),
);
for (const error of [...errors.unexplained, ...failedCalls.unexplained]) {
  broken.push(`an error without an explanation: ${error}`);
}
await topology.close();
console.log(broken.length === 0 ? "\nEverything held." : `\nBroken:\n${broken.join("\n")}`);
process.exit(broken.length === 0 ? 0 : 1);
