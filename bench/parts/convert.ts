/** Pictures made into another kind of file: how many a second, at which price, and in how much memory of which process. */

import sharp from "sharp";
import { tryOnce } from "../load.ts";
import { median } from "../measure.ts";
import { memoryOf, memoryText, watchMemory } from "../memory.ts";
import { photoPicture, pictureIn } from "../pictures.ts";
import { cpuMs } from "../proc.ts";
import { convert } from "../scenarios.ts";
import type { Part } from "../site.ts";

/** So many for each round: by number and not by time, because one alone may take a second. */
const picturesEach = 8;

export const converted: Part = async (site) => {
  const { name, connections } = convert;
  const vexel = await site.vexel();
  const { pid } = vexel.process;
  await Bun.sleep(500);
  const rest = memoryOf(pid);
  const first = pictureIn(await tryOnce(vexel.url, convert));
  await checkPixels(first);
  const count = picturesEach * site.rounds;
  site.say(`${name}: ${count} pictures`);
  const watch = watchMemory(pid, 20);
  const [began, cpuBefore] = [performance.now(), cpuMs(pid)];
  const times: number[] = [];
  let begun = 0;
  const caller = async (): Promise<void> => {
    while (begun++ < count) {
      const asked = performance.now();
      const picture = pictureIn(await tryOnce(vexel.url, convert));
      times.push(performance.now() - asked);
      if (!picture.equals(first)) throw new Error(`${name}: the same picture came out differently`);
    }
  };
  await Promise.all(Array.from({ length: connections }, caller));
  const seconds = (performance.now() - began) / 1000;
  const [cpu, peak] = [cpuMs(pid) - cpuBefore, watch.peak()];
  await vexel.process.stop();

  const [perSecond, cpuEach, p50Ms] = [count / seconds, cpu / count, median(times)];
  return {
    text: [
      `${name}, ${connections} callers, all processes of the gateway on one core: ${perSecond.toFixed(2)} pictures/s, p50 ${p50Ms.toFixed(0)} ms, ${cpuEach.toFixed(0)} ms of CPU each`,
      `memory: ${memoryText(rest)} at rest, ${memoryText(peak)} at most`,
    ].join("\n"),
    figures: { name, connections, count, perSecond, p50Ms, cpuMs: cpuEach, rest, peak },
    verdicts: [],
  };
};

/** Nobody spoke of quality, so nothing may be lost. */
async function checkPixels(picture: Buffer): Promise<void> {
  const { format } = await sharp(picture).metadata();
  const [came, given] = await Promise.all([picture, photoPicture()].map(pixelsOf));
  if (format !== "webp" || !given || !came?.equals(given))
    throw new Error(`${convert.name}: what came is not the same picture as WebP`);
}

const pixelsOf = (picture: Buffer): Promise<Buffer> =>
  sharp(picture).removeAlpha().raw().toBuffer();
