/** Floats from an upstream that sends base64: the CPU of the gateway, compared with printing the numbers alone. */

import { join } from "node:path";
import { cpuRatios, ratioLine } from "../compare.ts";
import type { RunScenario } from "../context.ts";
import { sendOnce } from "../load.ts";
import { type Figures, median, medians, underLoad, warmUp } from "../measure.ts";
import { cores, linesOf, start } from "../processes.ts";
import { atMost } from "../result.ts";
import { floats, targets } from "../scenarios.ts";
import { figureTable } from "../table.ts";
import { dimensions, vectors } from "../vectors.ts";

const warmSeconds = 2;

export const inFloats: RunScenario = async (context) => {
  const { seconds, rounds, log } = context;
  const vexel = await context.vexel();
  checkResponse(await sendOnce(vexel.url, floats));
  log(`${floats.name}: warming up`);
  const others = await Promise.all(context.others.map((other) => other.start()));
  for (const proxy of [vexel, ...others])
    await warmUp(
      async () => (await underLoad(context, proxy, floats, warmSeconds)).cpuUsPerRequest,
    );
  const printing = startPrinting();
  // The first round warms the process up and is not counted.
  await printing.round(1);
  const served: Figures[] = [];
  const servedByOthers: Figures[][] = others.map(() => []);
  const printed: number[] = [];
  for (let at = 1; at <= rounds; at++) {
    log(`${floats.name}: round ${at} of ${rounds}`);
    served.push(await underLoad(context, vexel, floats, seconds));
    for (const [index, other] of others.entries())
      servedByOthers[index]!.push(await underLoad(context, other, floats, seconds));
    printed.push(await printing.round(seconds));
  }
  await printing.stop();
  await vexel.process.stop();
  await Promise.all(others.map((other) => other.process.stop()));
  const named = context.others.map(({ name }, at) => ({ name, rounds: servedByOthers[at]! }));
  const otherRatios = named.map(({ name, rounds: other }) => ({
    name,
    ratios: cpuRatios(served, other),
  }));
  const [figures, printingUs] = [medians(served), median(printed)];
  return {
    text: [
      `${floats.name}, ${floats.connections} connections`,
      figureTable({
        vexel: figures,
        ...Object.fromEntries(named.map(({ name, rounds: other }) => [name, medians(other)])),
      }),
      `printing alone: ${printingUs.toFixed(0)} us of CPU per request (a bare process: base64 decoded and printed by the runtime itself; no HTTP, no validation, no assembled body)`,
      ...otherRatios.map(({ name, ratios }) => ratioLine(ratios, name)),
    ].join("\n"),
    figures: { name: floats.name, vexel: figures, printingUs, printed, otherRatios },
    verdicts: [
      atMost(
        `CPU per request, ${floats.name}`,
        figures.cpuUsPerRequest / printingUs,
        targets.floatsPrintingRatio,
        "x printing the numbers",
      ),
      ...otherRatios.map(({ name, ratios }) =>
        atMost(
          `CPU per request, ${floats.name}`,
          ratios.median,
          targets.otherCommitRatio,
          `x ${name}`,
        ),
      ),
    ],
  };
};

/** Runs on the proxy's core: the proxy is idle while this process works, and vice versa. */
function startPrinting() {
  const command = [process.execPath, join(import.meta.dir, "../print-floats.ts")];
  const child = start(command, cores.proxy, { listen: true });
  const lines = linesOf(child);
  return {
    round: async (seconds: number): Promise<number> => {
      child.writeLine(String(seconds));
      return Number((await lines.next()).value);
    },
    stop: child.stop,
  };
}

function checkResponse(body: string): void {
  const { data } = JSON.parse(body) as { data: { embedding: number[] }[] };
  const isComplete = data.every(({ embedding }) => embedding.length === dimensions);
  if (data.length !== vectors.length || !isComplete)
    throw new Error("the response does not have the requested floats");
}
