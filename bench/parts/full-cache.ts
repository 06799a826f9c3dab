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

const turnSeconds = 2;
const mostTurns = 15;
/** Three times what would fit if vectors were all: there is time to fill, and to replace. */
const enough = (3 * cacheBytes) / (dimensions * Float32Array.BYTES_PER_ELEMENT);

export const fullCache: Part = async (site) => {
  const without = await grow(site, 0);
  const full = await grow(site, cacheBytes);
  // The highest, because memory is a promise about every moment: what it is afterwards depends on the collector's mood.
  const added = full.peak - full.before - (without.peak - without.before);
  const tell = ({ before, after, peak, inputs }: Grown) =>
    `${before.toFixed(0)} MB before, at most ${peak.toFixed(0)} during and ${after.toFixed(0)} after ${inputs} new texts`;
  const name = `a full cache of ${cacheBytes / 2 ** 20} MiB`;
  return {
    text: `${name}: ${tell(full)}\nno cache: ${tell(without)}`,
    figures: { name, full, without, added },
    verdicts: [
      atMost(`memory that ${name} adds, at its highest`, added, targets.cacheMegabytes, "MB"),
    ],
  };
};

/** The process must be fresh: memory that earlier load left behind would hide the growth. */
async function grow(site: Site, bytes: number): Promise<Grown> {
  site.say(`memory with a cache of ${bytes} bytes`);
  const vexel = await site.vexel({ VEXEL_CACHE_BYTES: String(bytes) });
  await Bun.sleep(500);
  const before = rssMegabytes(vexel.process.pid);
  let [peak, inputs] = [before, 0];
  for (let turn = 0; inputs < enough; turn++) {
    if (turn === mostTurns) throw new Error(`only ${inputs} texts in ${turn * turnSeconds} s`);
    const { requests, peakMegabytes } = await underLoad(site, vexel, newText, turnSeconds);
    inputs += requests;
    peak = Math.max(peak, peakMegabytes);
  }
  const after = rssMegabytes(vexel.process.pid);
  await vexel.process.stop();
  return { before, after, peak, inputs };
}
