/** Pooling: combines the token vectors of a text into one vector. */

export type Pooling = "mean" | "cls";

export interface Hidden {
  /** [batch, length, width] */
  readonly values: Float32Array;
  readonly length: number;
  readonly width: number;
}

/** `counts`: how many positions of each row are tokens; the rest is padding on the right. */
export function pool(hidden: Hidden, counts: readonly number[], pooling: Pooling): Float32Array {
  const { values, length, width } = hidden;
  const pooled = new Float32Array(counts.length * width);
  counts.forEach((count, row) => {
    const from = row * length * width;
    const to = row * width;
    const used = pooling === "cls" ? 1 : count;
    for (let token = 0; token < used; token += 1) {
      for (let i = 0; i < width; i += 1) {
        pooled[to + i] = pooled[to + i]! + values[from + token * width + i]!;
      }
    }
    for (let i = 0; i < width; i += 1) pooled[to + i] = pooled[to + i]! / used;
  });
  return pooled;
}

/** Normalizes to length 1, in place. A zero vector stays zero. */
export function normalize(vectors: Float32Array, width: number): Float32Array {
  for (let from = 0; from < vectors.length; from += width) {
    let squares = 0;
    for (let i = from; i < from + width; i += 1) squares += vectors[i]! ** 2;
    const norm = Math.sqrt(squares) || 1;
    for (let i = from; i < from + width; i += 1) vectors[i] = vectors[i]! / norm;
  }
  return vectors;
}
