/** Pictures that come as links and are asked for in base64: how many are fetched and handed over, and in how much memory. */

import { atMost } from "../finding.ts";
import { tryOnce } from "../load.ts";
import { type Figures, medians, underLoad, warmUp } from "../measure.ts";
import { highest, type Memory, memoryOf, memoryText, watchMemory } from "../memory.ts";
import { pictureIn, usualPicture } from "../pictures.ts";
import { links, targets } from "../scenarios.ts";
import type { Part } from "../site.ts";
import { figureTable } from "../table.ts";

const warmSeconds = 2;

export const linksFetched: Part = async (site) => {
  const { name, connections } = links;
  const vexel = await site.vexel();
  const { pid } = vexel.process;
  await Bun.sleep(500);
  const rest = memoryOf(pid);
  await look(vexel.url);
  site.say(`${name}: warming up`);
  const memory: Memory[] = [];
  const round = async (seconds: number): Promise<Figures> => {
    const watch = watchMemory(pid);
    const figures = await underLoad(site, vexel, links, seconds);
    memory.push(watch.peak());
    return figures;
  };
  await warmUp(async () => (await round(warmSeconds)).cpuUsPerRequest);
  const rounds: Figures[] = [];
  for (let at = 1; at <= site.rounds; at++) {
    site.say(`${name}: round ${at} of ${site.rounds}`);
    rounds.push(await round(site.seconds));
  }
  await look(vexel.url);
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

/** Before the load, and after it: it must not have mixed anything up. */
async function look(url: string): Promise<void> {
  if (!pictureIn(await tryOnce(url, links)).equals(usualPicture()))
    throw new Error(`${links.name}: another picture came than the link leads to`);
}
