/** Floats asked from an upstream that gives base64: all of the gateway's work, against the printing of the numbers alone. */

import { join } from "node:path";
import { atMost } from "../finding.ts";
import { tryOnce } from "../load.ts";
import { type Figures, median, medians, underLoad, warmUp } from "../measure.ts";
import { cores, firstLine, start } from "../processes.ts";
import { floats, targets } from "../scenarios.ts";
import type { Part } from "../site.ts";
import { figureTable } from "../table.ts";
import { dimensions, vectors } from "../vectors.ts";

const warmSeconds = 2;

export const inFloats: Part = async ({ vexel: fresh, seconds, rounds, folder, say }) => {
  const vexel = await fresh();
  checkAnswer(await tryOnce(vexel.url, floats));
  await warmUp(async () => (await underLoad(vexel, floats, warmSeconds, folder)).cpuUsPerRequest);
  const [served, printed]: [Figures[], number[]] = [[], []];
  for (let at = 1; at <= rounds; at++) {
    say(`${floats.name}: round ${at} of ${rounds}`);
    served.push(await underLoad(vexel, floats, seconds, folder));
    printed.push(await printing(seconds));
  }
  await vexel.process.stop();
  const [figures, bare] = [medians(served), median(printed)];
  return {
    text: [
      `${floats.name}, ${floats.connections} connections`,
      figureTable({ vexel: figures }),
      `printing alone: ${bare.toFixed(0)} us of CPU a call (a bare process: base64 decoded and printed by the same function; no HTTP, no checks, no body put together)`,
    ].join("\n"),
    figures: { name: floats.name, vexel: figures, printingUs: bare, printed },
    verdicts: [
      atMost(
        `CPU per call, ${floats.name}`,
        figures.cpuUsPerRequest / bare,
        targets.floatsTimesPrinting,
        "x printing the numbers",
      ),
    ],
  };
};

/** On the proxy's core, which the gateway leaves alone meanwhile. */
async function printing(seconds: number): Promise<number> {
  const command = [process.execPath, join(import.meta.dir, "../printing.ts"), String(seconds)];
  const child = start(command, cores.proxy, { listen: true });
  const { usPerCall } = JSON.parse(await firstLine(child)) as { usPerCall: number };
  await child.exited;
  return usPerCall;
}

function checkAnswer(answer: string): void {
  const { data } = JSON.parse(answer) as { data: { embedding: number[] }[] };
  const whole = data.every(({ embedding }) => embedding.length === dimensions);
  if (data.length !== vectors.length || !whole) throw new Error("not the floats that were asked");
}
