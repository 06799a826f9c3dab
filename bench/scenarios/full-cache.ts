/** The memory of a full embedding cache, compared with the same load without a cache. */

import type { BenchContext, RunScenario } from "../context.ts";
import { underLoad } from "../measure.ts";
import { rssMegabytes } from "../proc.ts";
import { atMost } from "../result.ts";
import { cacheBytes, targets, uncachedText } from "../scenarios.ts";
import { dimensions } from "../vectors.ts";

interface MemoryGrowth {
  readonly before: number;
  readonly after: number;
  readonly peak: number;
  readonly inputs: number;
}

const turnSeconds = 2;
const mostTurns = 15;
/** Three times the capacity for vectors alone: enough to fill the cache and to evict. */
const textsNeeded = (3 * cacheBytes) / (dimensions * Float32Array.BYTES_PER_ELEMENT);

export const fullCache: RunScenario = async (context) => {
  const without = await grow(context, 0);
  const full = await grow(context, cacheBytes);
  // The maximum, because a memory bound holds at every moment: the value afterwards depends on the garbage collector.
  const added = full.peak - full.before - (without.peak - without.before);
  const describe = ({ before, after, peak, inputs }: MemoryGrowth) =>
    `${before.toFixed(0)} MB before, at most ${peak.toFixed(0)} during and ${after.toFixed(0)} after ${inputs} uncached texts`;
  const name = `a full cache of ${cacheBytes / 2 ** 20} MiB`;
  return {
    text: `${name}: ${describe(full)}\nno cache: ${describe(without)}`,
    figures: { name, full, without, added },
    verdicts: [
      atMost(`memory that ${name} adds, at its highest`, added, targets.cacheMegabytes, "MB"),
    ],
  };
};

/** The process must be fresh: memory that an earlier load left behind would hide the growth. */
async function grow(context: BenchContext, bytes: number): Promise<MemoryGrowth> {
  context.log(`memory with a cache of ${bytes} bytes`);
  const vexel = await context.vexel({ VEXEL_CACHE_BYTES: String(bytes) });
  await Bun.sleep(500);
  const before = rssMegabytes(vexel.process.pid);
  let [peak, inputs] = [before, 0];
  for (let turn = 0; inputs < textsNeeded; turn++) {
    if (turn === mostTurns) throw new Error(`only ${inputs} texts in ${turn * turnSeconds} s`);
    const { requests, peakMegabytes } = await underLoad(context, vexel, uncachedText, turnSeconds);
    inputs += requests;
    peak = Math.max(peak, peakMegabytes);
  }
  const after = rssMegabytes(vexel.process.pid);
  await vexel.process.stop();
  return { before, after, peak, inputs };
}
