/**
 * Images that the upstream returns as links and the client requests as base64: throughput and memory of the downloads.
 */

import type { RunScenario } from "../context.ts";
import { sendOnce } from "../load.ts";
import { type Figures, medians, underLoad, warmUp } from "../measure.ts";
import { highest, type Memory, memoryOf, memoryText, watchMemory } from "../memory.ts";
import { atMost } from "../result.ts";
import { imageIn, usualImage } from "../sample-images.ts";
import { links, targets } from "../scenarios.ts";
import { figureTable } from "../table.ts";

const warmSeconds = 2;

export const imageDownloads: RunScenario = async (context) => {
  const { name, connections } = links;
  const vexel = await context.vexel();
  const { pid } = vexel.process;
  await Bun.sleep(500);
  const rest = memoryOf(pid);
  await checkImage(vexel.url);
  context.log(`${name}: warming up`);
  const memory: Memory[] = [];
  const round = async (seconds: number): Promise<Figures> => {
    const watch = watchMemory(pid);
    const figures = await underLoad(context, vexel, links, seconds);
    memory.push(watch.peak());
    return figures;
  };
  await warmUp(async () => (await round(warmSeconds)).cpuUsPerRequest);
  const rounds: Figures[] = [];
  for (let at = 1; at <= context.rounds; at++) {
    context.log(`${name}: round ${at} of ${context.rounds}`);
    rounds.push(await round(context.seconds));
  }
  await checkImage(vexel.url);
  await vexel.process.stop();

  const [figures, peak] = [medians(rounds), highest(memory)];
  return {
    text: [
      `${name}, ${connections} connections`,
      figureTable({ vexel: figures }),
      `memory: ${memoryText(rest)} at rest, ${memoryText(peak)} at most`,
    ].join("\n"),
    figures: { name, connections, vexel: figures, rest, peak },
    verdicts: [atMost(`memory under load, ${name}`, peak.gateway, targets.loadMegabytes, "MB")],
  };
};

/** Before and after the load: the response must have the image behind the link. */
async function checkImage(url: string): Promise<void> {
  if (!imageIn(await sendOnce(url, links)).equals(usualImage()))
    throw new Error(`${links.name}: the response has another image than the link`);
}
