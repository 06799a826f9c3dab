/** Plans the next batch: which queued inputs run together. */

export interface BatchLimits {
  readonly inputs: number;
  /** Maximum tokens of a batch, padding included. */
  readonly tokens: number;
}

// Measured on one core with MiniLM: above this many tokens a batch exceeds the CPU cache and gets slower again.
export const batchLimits: BatchLimits = { inputs: 32, tokens: 512 };

/** How many queued inputs are considered for a batch. */
const lookahead = 256;

/**
 * The first queued input is always taken, with those of the next inputs that are nearest to it in length. The shortest
 * is at least half as long as the longest, so that little is spent on padding.
 */
export function planBatch(lengths: readonly number[], limits: BatchLimits): number[] {
  const leader = lengths[0];
  if (leader === undefined) return [];
  const near = lengths
    .slice(1, lookahead)
    .map((length, i) => ({ index: i + 1, length, distance: Math.abs(length - leader) }))
    .sort((a, b) => a.distance - b.distance);
  const chosen = [0];
  let [shortest, longest] = [leader, leader];
  for (const { index, length } of near) {
    if (chosen.length >= limits.inputs) break;
    const low = Math.min(shortest, length);
    const high = Math.max(longest, length);
    if (low * 2 < high || high * (chosen.length + 1) > limits.tokens) continue;
    chosen.push(index);
    [shortest, longest] = [low, high];
  }
  return chosen;
}
