/** Percentiles of the latency histogram of the ledger. */
import { latencyBoundsMs } from "./ports/ledger-queries.ts";

/** Linear interpolation inside the bucket. A percentile above the last bound is reported as that bound. */
export function latencyPercentile(histogram: readonly number[], share: number): number | null {
  const total = histogram.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  const rank = share * total;
  let below = 0;
  for (const [at, count] of histogram.entries()) {
    const upper = latencyBoundsMs[at];
    if (upper === undefined) break;
    if (count > 0 && below + count >= rank) {
      const lower = latencyBoundsMs[at - 1] ?? 0;
      return Math.round((lower + ((rank - below) / count) * (upper - lower)) * 10) / 10;
    }
    below += count;
  }
  return latencyBoundsMs.at(-1) ?? null;
}
