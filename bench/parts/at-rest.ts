/**
 * A gateway without requests: how soon it is ready, and how much memory it takes. The process of the gateway and the whole
 * tree of `npm start` are measured apart: npm stays for as long as the gateway runs.
 */

import { join } from "node:path";
import { atMost } from "../finding.ts";
import { median } from "../measure.ts";
import { pssMegabytes, rssMegabytes } from "../proc.ts";
import { targets } from "../scenarios.ts";
import type { Part, Site } from "../site.ts";
import { startVexel } from "../vexel.ts";

const starts = 3;
const root = join(import.meta.dir, "../..");

interface AtRest {
  readonly readyMs: number;
  /** Resident set size. */
  readonly rss: number;
  /** Proportional set size: what is shared with other processes counts in part. */
  readonly pss: number;
}

async function measure(contender: ReturnType<Site["vexel"]>): Promise<AtRest> {
  const { readyMs, process } = await contender;
  await Bun.sleep(1000);
  const found = { readyMs, rss: rssMegabytes(process.pid), pss: pssMegabytes(process.pid) };
  await process.stop();
  return found;
}

export const atRest: Part = async ({ vexel: fresh, folder, upstream, say }) => {
  say("starts");
  const alone: AtRest[] = [];
  const tree: AtRest[] = [];
  const npmStart = ["npm", "--prefix", root, "start", "--silent"];
  for (let at = 0; at < starts; at++) {
    alone.push(await measure(fresh()));
    tree.push(
      await measure(
        startVexel({ folder: join(folder, `npm-start-${at}`), upstream, command: npmStart }),
      ),
    );
  }
  const of = (found: readonly AtRest[], what: keyof AtRest) => found.map((each) => each[what]);
  const told = (values: readonly number[]) => values.map((value) => value.toFixed(0)).join(", ");
  const memory = (found: readonly AtRest[]) =>
    `${told(of(found, "rss"))} MB (PSS ${told(of(found, "pss"))} MB)`;
  const { stdout } = Bun.spawnSync(["node", "--version"]);
  const node = stdout.toString().trim();
  return {
    text: [
      `starts: the gateway's process is ready after ${told(of(alone, "readyMs"))} ms, npm start after ${told(of(tree, "readyMs"))} ms`,
      `memory at rest: the gateway's process ${memory(alone)}; all processes of npm start under Node ${node} ${memory(tree)}`,
    ].join("\n"),
    figures: { alone, npmStart: tree, node },
    verdicts: [
      atMost("memory at rest", median(of(alone, "rss")), targets.restMegabytes, "MB"),
      atMost("start to ready", median(of(alone, "readyMs")), targets.readyMs, "ms"),
    ],
  };
};
