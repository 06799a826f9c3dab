/** Edits of large images with a slow upstream: backpressure must bound the memory of the proxy. */

import type { RunScenario } from "../context.ts";
import { type Memory, memoryOf, watchMemory, watchTree } from "../memory.ts";
import type { RunningProxy } from "../nginx.ts";
import { atMost } from "../result.ts";
import { edits, targets } from "../scenarios.ts";
import { createImages, type LargeImage, uploadAll } from "../upload.ts";

interface EditFigures {
  /** Growth of the process that accepts connections. */
  readonly growthMegabytes: number;
  /** Growth of that process and its children. Shared pages, such as the program itself, count once. */
  readonly treeMegabytes: number;
  readonly peak: Memory;
  readonly seconds: number;
}

export const largeEdits: RunScenario = async (context) => {
  context.log("edits of large images");
  const images = createImages(context.folder);
  const vexel = await measureUploads(await context.vexel(), images);
  const reference = await context.nginx();
  const nginx = reference && (await measureUploads(reference, images));
  const name = `${edits.count} concurrent edits of images of ${edits.megabytes} MB`;
  const describe = ({ seconds, growthMegabytes }: EditFigures) =>
    `${seconds.toFixed(1)} s, memory grew by ${growthMegabytes.toFixed(1)} MB`;
  const workers = `at most ${vexel.peak.workers.toFixed(0)} MB in the image workers, ${vexel.treeMegabytes.toFixed(1)} MB growth in total`;
  return {
    text: `${name}: ${describe(vexel)}, ${workers}${nginx ? ` (nginx: ${describe(nginx)})` : ""}`,
    figures: { name, vexel, nginx },
    verdicts: [
      atMost(`growth with ${name}`, vexel.growthMegabytes, targets.editsGrowthMegabytes, "MB"),
      atMost(
        `growth of all processes with ${name}`,
        vexel.treeMegabytes,
        targets.editsGrowthMegabytes,
        "MB",
      ),
    ],
  };
};

/** The process must be fresh: memory that an earlier load left behind would hide the growth. */
async function measureUploads(
  proxy: RunningProxy,
  images: readonly LargeImage[],
): Promise<EditFigures> {
  const { pid } = proxy.process;
  await Bun.sleep(500);
  const before = memoryOf(pid);
  const watch = watchMemory(pid, 20);
  const tree = watchTree(pid, 20);
  const started = performance.now();
  await uploadAll(proxy.url, images);
  const seconds = (performance.now() - started) / 1000;
  const peak = watch.peak();
  const treeMegabytes = tree.growth();
  await proxy.process.stop();
  return { growthMegabytes: peak.gateway - before.gateway, treeMegabytes, peak, seconds };
}
