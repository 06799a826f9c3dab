/** Image format conversion: throughput, CPU per image, and memory of each process. */

import sharp from "sharp";
import type { RunScenario } from "../context.ts";
import { sendOnce } from "../load.ts";
import { median } from "../measure.ts";
import { memoryOf, memoryText, watchMemory } from "../memory.ts";
import { cpuMs } from "../proc.ts";
import { imageIn, photoImage } from "../sample-images.ts";
import { convert } from "../scenarios.ts";

/** Images per round: a number and not a time, because one may take a second. */
const imagesPerRound = 8;

export const converted: RunScenario = async (context) => {
  const { name, connections } = convert;
  const vexel = await context.vexel();
  const { pid } = vexel.process;
  await Bun.sleep(500);
  const rest = memoryOf(pid);
  const first = imageIn(await sendOnce(vexel.url, convert));
  await checkPixels(first);
  const count = imagesPerRound * context.rounds;
  context.log(`${name}: ${count} images`);
  const watch = watchMemory(pid, 20);
  const [began, cpuBefore] = [performance.now(), cpuMs(pid)];
  const times: number[] = [];
  let sent = 0;
  const client = async (): Promise<void> => {
    while (sent++ < count) {
      const sentAt = performance.now();
      const image = imageIn(await sendOnce(vexel.url, convert));
      times.push(performance.now() - sentAt);
      if (!image.equals(first))
        throw new Error(`${name}: the same image was converted differently`);
    }
  };
  await Promise.all(Array.from({ length: connections }, client));
  const seconds = (performance.now() - began) / 1000;
  const [cpu, peak] = [cpuMs(pid) - cpuBefore, watch.peak()];
  await vexel.process.stop();

  const [perSecond, cpuEach, p50Ms] = [count / seconds, cpu / count, median(times)];
  return {
    text: [
      `${name}, ${connections} clients, all processes of the gateway on one core: ${perSecond.toFixed(2)} images/s, p50 ${p50Ms.toFixed(0)} ms, ${cpuEach.toFixed(0)} ms of CPU each`,
      `memory: ${memoryText(rest)} at rest, ${memoryText(peak)} at most`,
    ].join("\n"),
    figures: { name, connections, count, perSecond, p50Ms, cpuMs: cpuEach, rest, peak },
    verdicts: [],
  };
};

/** The request has no quality option, so the conversion must be lossless. */
async function checkPixels(image: Buffer): Promise<void> {
  const { format } = await sharp(image).metadata();
  const [converted, original] = await Promise.all([image, photoImage()].map(pixelsOf));
  if (format !== "webp" || !original || !converted?.equals(original))
    throw new Error(`${convert.name}: the response is not the same image as WebP`);
}

const pixelsOf = (image: Buffer): Promise<Buffer> => sharp(image).removeAlpha().raw().toBuffer();
