/** What a full cache adds to the memory of the gateway, against the same load on one that remembers nothing. */

import { atMost } from "../finding.ts";
import { underLoad } from "../measure.ts";
import { rssMegabytes } from "../proc.ts";
import { cacheBytes, newText, targets } from "../scenarios.ts";
import type { Part, Site } from "../site.ts";
import { dimensions } from "../vectors.ts";

interface Grown {
  readonly before: number;
  readonly after: number;
  readonly peak: number;
  readonly inputs: number;
}

const seconds = 5;
/** If the vectors were all: fewer fit. */
const room = cacheBytes / (dimensions * Float32Array.BYTES_PER_ELEMENT);

export const fullCache: Part = async (site) => {
  const without = await grow(site, 0);
  const full = await grow(site, cacheBytes);
  if (full.inputs < 2 * room)
    throw new Error(`${full.inputs} inputs are too few to fill a cache of ${room} and go on`);
  const added = full.after - full.before - (without.after - without.before);
  const tell = ({ before, after, peak, inputs }: Grown) =>
    `${before.toFixed(0)} MB before, ${after.toFixed(0)} after ${inputs} new texts (peak ${peak.toFixed(0)})`;
  const name = `a full cache of ${cacheBytes / 2 ** 20} MiB`;
  return {
    text: `memory with ${name}: ${tell(full)}\nwithout a cache: ${tell(without)}`,
    figures: { name, full, without, added },
    verdicts: [atMost(`memory that ${name} adds`, added, targets.cacheMegabytes, "MB")],
  };
};

/** The process must be fresh: memory that earlier load left behind would hide the growth. */
async function grow({ vexel: fresh, folder, say }: Site, bytes: number): Promise<Grown> {
  say(`memory with a cache of ${bytes} bytes`);
  const vexel = await fresh({ VEXEL_CACHE_BYTES: String(bytes) });
  await Bun.sleep(500);
  const before = rssMegabytes(vexel.process.pid);
  const figures = await underLoad(vexel, newText, seconds, folder);
  const after = rssMegabytes(vexel.process.pid);
  await vexel.process.stop();
  const inputs = Math.round(figures.requestsPerSecond * figures.loadSeconds);
  return { before, after, peak: figures.peakMegabytes, inputs };
}
