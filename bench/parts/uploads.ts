/** Large uploads to an upstream that takes them slowly: does the proxy hoard them in memory? */

import { atMost } from "../finding.ts";
import type { Contender } from "../nginx.ts";
import { rssMegabytes, watchPeak } from "../proc.ts";
import { targets, uploads } from "../scenarios.ts";
import type { Part } from "../site.ts";
import { uploadAll } from "../upload.ts";

interface UploadFigures {
  readonly growthMegabytes: number;
  readonly seconds: number;
}

export const underUploads: Part = async (site) => {
  site.say("uploads");
  const vexel = await hoarded(await site.vexel());
  const yardstick = await site.nginx();
  const nginx = yardstick && (await hoarded(yardstick));
  const name = `${uploads.count} uploads of ${uploads.megabytes} MB at once`;
  const tell = ({ seconds, growthMegabytes }: UploadFigures) =>
    `${seconds.toFixed(1)} s, memory grew by ${growthMegabytes.toFixed(1)} MB`;
  return {
    text: `${name}: ${tell(vexel)}${nginx ? ` (nginx: ${tell(nginx)})` : ""}`,
    figures: { name, vexel, nginx },
    verdicts: [
      atMost(`growth with ${name}`, vexel.growthMegabytes, targets.uploadGrowthMegabytes, "MB"),
    ],
  };
};

/** The process must be fresh: memory that earlier load left behind would hide the growth. */
async function hoarded(proxy: Contender): Promise<UploadFigures> {
  const { pid } = proxy.process;
  await Bun.sleep(500);
  const before = rssMegabytes(pid);
  const watch = watchPeak(pid, 20);
  const started = performance.now();
  await uploadAll(proxy.url);
  const seconds = (performance.now() - started) / 1000;
  const growthMegabytes = watch.peak() - before;
  await proxy.process.stop();
  return { growthMegabytes, seconds };
}
