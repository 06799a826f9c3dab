/** A gateway that nobody calls: how soon it is there, and how much memory it takes. */

import { atMost } from "../finding.ts";
import { median } from "../measure.ts";
import { rssMegabytes } from "../proc.ts";
import { targets } from "../scenarios.ts";
import type { Part } from "../site.ts";

const starts = 3;

export const atRest: Part = async ({ vexel: fresh, say }) => {
  say("starts");
  const readyMs: number[] = [];
  const rest: number[] = [];
  for (let at = 0; at < starts; at++) {
    const vexel = await fresh();
    readyMs.push(vexel.readyMs);
    await Bun.sleep(1000);
    rest.push(rssMegabytes(vexel.process.pid));
    await vexel.process.stop();
  }
  const told = (values: readonly number[]) => values.map((value) => value.toFixed(0)).join(", ");
  return {
    text: `starts: ready after ${told(readyMs)} ms, memory at rest ${told(rest)} MB`,
    figures: { readyMs, restMegabytes: rest },
    verdicts: [
      atMost("memory at rest", median(rest), targets.restMegabytes, "MB"),
      atMost("start to ready", median(readyMs), targets.readyMs, "ms"),
    ],
  };
};
