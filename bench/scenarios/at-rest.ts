/**
 * A gateway without requests: how soon it is ready, and how much memory it takes. The process of the gateway and the
 * whole tree of `npm start` are measured separately: npm runs for as long as the gateway does.
 */

import { join } from "node:path";
import type { BenchContext, RunScenario } from "../context.ts";
import { median } from "../measure.ts";
import { pssMegabytes, rssMegabytes } from "../proc.ts";
import { atMost } from "../result.ts";
import { targets } from "../scenarios.ts";
import { startVexel } from "../vexel.ts";

const starts = 3;
const root = join(import.meta.dir, "../..");

interface AtRest {
  readonly readyMs: number;
  /** Resident set size. */
  readonly rss: number;
  /** Proportional set size: memory that several processes share counts in part. */
  readonly pss: number;
}

async function measure(contender: ReturnType<BenchContext["vexel"]>): Promise<AtRest> {
  const { readyMs, process } = await contender;
  await Bun.sleep(1000);
  const measured = { readyMs, rss: rssMegabytes(process.pid), pss: pssMegabytes(process.pid) };
  await process.stop();
  return measured;
}

export const atRest: RunScenario = async ({ vexel: fresh, folder, upstream, log }) => {
  log("starts");
  const gateway: AtRest[] = [];
  const tree: AtRest[] = [];
  const npmStart = ["npm", "--prefix", root, "start", "--silent"];
  for (let at = 0; at < starts; at++) {
    gateway.push(await measure(fresh()));
    tree.push(
      await measure(
        startVexel({ folder: join(folder, `npm-start-${at}`), upstream, command: npmStart }),
      ),
    );
  }
  const of = (measured: readonly AtRest[], what: keyof AtRest) =>
    measured.map((each) => each[what]);
  const list = (values: readonly number[]) => values.map((value) => value.toFixed(0)).join(", ");
  const memory = (measured: readonly AtRest[]) =>
    `${list(of(measured, "rss"))} MB (PSS ${list(of(measured, "pss"))} MB)`;
  const { stdout } = Bun.spawnSync(["node", "--version"]);
  const node = stdout.toString().trim();
  return {
    text: [
      `starts: the gateway's process is ready after ${list(of(gateway, "readyMs"))} ms, npm start after ${list(of(tree, "readyMs"))} ms`,
      `memory at rest: the gateway's process ${memory(gateway)}; all processes of npm start under Node ${node} ${memory(tree)}`,
    ].join("\n"),
    figures: { gateway, npmStart: tree, node },
    verdicts: [
      atMost("memory at rest", median(of(gateway, "rss")), targets.restMegabytes, "MB"),
      atMost("start to ready", median(of(gateway, "readyMs")), targets.readyMs, "ms"),
    ],
  };
};
