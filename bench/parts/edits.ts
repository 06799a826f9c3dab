/** Edits of large pictures by an upstream that takes them slowly: does the proxy hoard them in memory? */

import { atMost } from "../finding.ts";
import { type Memory, memoryOf, watchMemory, watchTogether } from "../memory.ts";
import type { Contender } from "../nginx.ts";
import { edits, targets } from "../scenarios.ts";
import type { Part } from "../site.ts";
import { type LargePicture, makePictures, uploadAll } from "../upload.ts";

interface EditFigures {
  /** Of the process that callers talk to. */
  readonly growthMegabytes: number;
  /** Of that one and all it starts. What they share, such as the program itself, counts once. */
  readonly togetherMegabytes: number;
  readonly peak: Memory;
  readonly seconds: number;
}

export const largeEdits: Part = async (site) => {
  site.say("edits of large pictures");
  const pictures = makePictures(site.folder);
  const vexel = await hoarded(await site.vexel(), pictures);
  const yardstick = await site.nginx();
  const nginx = yardstick && (await hoarded(yardstick, pictures));
  const name = `${edits.count} edits of pictures of ${edits.megabytes} MB at once`;
  const tell = ({ seconds, growthMegabytes }: EditFigures) =>
    `${seconds.toFixed(1)} s, memory grew by ${growthMegabytes.toFixed(1)} MB`;
  const looks = `at most ${vexel.peak.children.toFixed(0)} MB in the processes that look at the pictures, ${vexel.togetherMegabytes.toFixed(1)} MB more in all`;
  return {
    text: `${name}: ${tell(vexel)}, ${looks}${nginx ? ` (nginx: ${tell(nginx)})` : ""}`,
    figures: { name, vexel, nginx },
    verdicts: [
      atMost(`growth with ${name}`, vexel.growthMegabytes, targets.editsGrowthMegabytes, "MB"),
      atMost(
        `growth of all processes with ${name}`,
        vexel.togetherMegabytes,
        targets.editsGrowthMegabytes,
        "MB",
      ),
    ],
  };
};

/** The process must be fresh: memory that earlier load left behind would hide the growth. */
async function hoarded(proxy: Contender, pictures: readonly LargePicture[]): Promise<EditFigures> {
  const { pid } = proxy.process;
  await Bun.sleep(500);
  const before = memoryOf(pid);
  const watch = watchMemory(pid, 20);
  const together = watchTogether(pid, 20);
  const started = performance.now();
  await uploadAll(proxy.url, pictures);
  const seconds = (performance.now() - started) / 1000;
  const peak = watch.peak();
  const togetherMegabytes = together.growth();
  await proxy.process.stop();
  return { growthMegabytes: peak.gateway - before.gateway, togetherMegabytes, peak, seconds };
}
