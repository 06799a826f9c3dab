/** What truncated vectors cost in ranking quality, measured on a sample of the texts. */
import { dot, truncated } from "./vectors.ts";

const maxNeighbors = 10;
/** Each text of the sample is compared with all texts: more would make the slider slow. */
const maxQueries = 50;
const shares = [1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4] as const;

/**
 * The number of nearest neighbors that are compared: about a third of the texts, at most `maxNeighbors`. If all other
 * texts were neighbors, every ranking would have the same neighbors, and the quality would always be 1.
 */
export const neighborCount = (texts: number): number =>
  Math.min(maxNeighbors, texts - 1, Math.max(1, Math.floor(texts / 3)));

/**
 * The mean share of the nearest neighbors of each text that are still its nearest neighbors with fewer dimensions.
 * 1: the same neighbors. `null`: fewer than two texts.
 */
export function rankingQuality(
  vectors: readonly Float32Array[],
  dimensions: number,
): number | null {
  const count = neighborCount(vectors.length);
  if (count < 1) return null;
  const short = vectors.map((vector) => truncated(vector, dimensions));
  const queries = sampleOf(vectors.length);
  let kept = 0;
  for (const query of queries) {
    const reference = new Set(nearest(vectors, query, count));
    kept += nearest(short, query, count).filter((other) => reference.has(other)).length;
  }
  return kept / (queries.length * count);
}

export interface QualityPoint {
  readonly dimensions: number;
  /** `null`: not known. */
  readonly quality: number | null;
}

/** For a curve from few dimensions to all. */
export function qualityCurve(vectors: readonly Float32Array[]): QualityPoint[] {
  const full = vectors[0]?.length ?? 0;
  const steps = [...shares.map((share) => Math.max(1, Math.round(full * share))), full];
  return [...new Set(steps)].map((dimensions) => ({
    dimensions,
    quality: rankingQuality(vectors, dimensions),
  }));
}

/** Evenly spread over the texts. */
function sampleOf(size: number): number[] {
  const step = Math.max(1, size / maxQueries);
  return Array.from({ length: Math.min(size, maxQueries) }, (_, at) => Math.floor(at * step));
}

function nearest(vectors: readonly Float32Array[], query: number, count: number): number[] {
  const own = vectors[query] as Float32Array;
  return vectors
    .map((vector, index) => ({ index, similarity: dot(own, vector) }))
    .filter(({ index }) => index !== query)
    .sort((a, b) => b.similarity - a.similarity)
    .slice(0, count)
    .map(({ index }) => index);
}
