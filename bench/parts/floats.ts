/** Floats asked from an upstream that gives base64: all of the gateway's work, against the printing of the numbers alone. */

import { join } from "node:path";
import { cpuTimes, timesLine } from "../compare.ts";
import { atMost } from "../finding.ts";
import { tryOnce } from "../load.ts";
import { type Figures, median, medians, underLoad, warmUp } from "../measure.ts";
import { cores, linesOf, start } from "../processes.ts";
import { floats, targets } from "../scenarios.ts";
import type { Part } from "../site.ts";
import { figureTable } from "../table.ts";
import { dimensions, vectors } from "../vectors.ts";

const warmSeconds = 2;

export const inFloats: Part = async (site) => {
  const { seconds, rounds, say } = site;
  const vexel = await site.vexel();
  checkAnswer(await tryOnce(vexel.url, floats));
  say(`${floats.name}: warming up`);
  const other = await site.other?.start();
  for (const proxy of [vexel, other])
    if (proxy)
      await warmUp(async () => (await underLoad(site, proxy, floats, warmSeconds)).cpuUsPerRequest);
  const printing = startPrinting();
  // Once for nothing: it answers when it is warm.
  await printing.round(1);
  const served: Figures[] = [];
  const servedByOther: Figures[] = [];
  const printed: number[] = [];
  for (let at = 1; at <= rounds; at++) {
    say(`${floats.name}: round ${at} of ${rounds}`);
    served.push(await underLoad(site, vexel, floats, seconds));
    if (other) servedByOther.push(await underLoad(site, other, floats, seconds));
    printed.push(await printing.round(seconds));
  }
  await printing.stop();
  await vexel.process.stop();
  await other?.process.stop();
  const timesOther = other && cpuTimes(served, servedByOther);
  const [figures, bare] = [medians(served), median(printed)];
  return {
    text: [
      `${floats.name}, ${floats.connections} connections`,
      figureTable({
        vexel: figures,
        ...(site.other && { [site.other.name]: medians(servedByOther) }),
      }),
      `printing alone: ${bare.toFixed(0)} us of CPU a call (a bare process: base64 decoded and printed by the runtime itself; no HTTP, no checks, no body put together)`,
      ...(timesOther ? [timesLine(timesOther, site.other!.name)] : []),
    ].join("\n"),
    figures: { name: floats.name, vexel: figures, printingUs: bare, printed, timesOther },
    verdicts: [
      atMost(
        `CPU per call, ${floats.name}`,
        figures.cpuUsPerRequest / bare,
        targets.floatsTimesPrinting,
        "x printing the numbers",
      ),
      ...(timesOther
        ? [
            atMost(
              `CPU per call, ${floats.name}`,
              timesOther.median,
              targets.timesOtherCommit,
              `x ${site.other!.name}`,
            ),
          ]
        : []),
    ],
  };
};

/** On the proxy's core; each of the two rests while the other works. */
function startPrinting() {
  const command = [process.execPath, join(import.meta.dir, "../printing.ts")];
  const child = start(command, cores.proxy, { listen: true });
  const lines = linesOf(child);
  return {
    round: async (seconds: number): Promise<number> => {
      child.say(String(seconds));
      return Number((await lines.next()).value);
    },
    stop: child.stop,
  };
}

function checkAnswer(answer: string): void {
  const { data } = JSON.parse(answer) as { data: { embedding: number[] }[] };
  const whole = data.every(({ embedding }) => embedding.length === dimensions);
  if (data.length !== vectors.length || !whole) throw new Error("not the floats that were asked");
}
