/**
 * `npm run bench -- jobs [--lines N] [--only corpus,kills,interactive] [--kill-lines N] [--check]`: a corpus as one
 * batch, kills in the middle of batches, and interactive requests beside a batch. Exits with 1 with `--check` if a
 * target is missed.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { measureCorpus } from "./jobs/corpus.ts";
import { type Report, startJobsGateway } from "./jobs/gateway.ts";
import { measureKills } from "./jobs/kills.ts";
import { measureInteractive } from "./jobs/latency.ts";
import { cores, endWithParent, firstLine, start, stopAll } from "./processes.ts";

const { values: options } = parseArgs({
  options: {
    lines: { type: "string", default: "10000000" },
    "kill-lines": { type: "string", default: "200000" },
    only: { type: "string", default: "corpus,kills,interactive" },
    check: { type: "boolean", default: false },
  },
});
const only = options.only.split(",");
const lines = Number(options.lines);

endWithParent(4 * 3_600_000);
const folder = mkdtempSync(join(tmpdir(), "vexel-jobs-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const source = start([process.execPath, join(import.meta.dir, "jobs/upstream.ts")], cores.rest, {
  listen: true,
});
const upstream = `http://127.0.0.1:${await firstLine(source)}`;

const report: Report = (line, missed) => {
  console.log(`${line}${missed === undefined ? "" : `  MISSED: ${missed}`}`);
  if (missed !== undefined && options.check) process.exitCode = 1;
};

if (only.includes("interactive")) {
  const gateway = await startJobsGateway(join(folder, "interactive"), upstream);
  await measureInteractive(gateway, source.pid, Math.min(lines, 150_000), report);
  await gateway.stop();
}
if (only.includes("kills")) {
  const killed = { folder, upstream, lines: Number(options["kill-lines"]), report };
  for (const replicas of [1, 3] as const) await measureKills(killed, replicas);
}
if (only.includes("corpus")) {
  const gateway = await startJobsGateway(join(folder, "corpus"), upstream);
  await measureCorpus(gateway, lines, report);
  await gateway.stop();
}
await stopAll();
process.exit();
