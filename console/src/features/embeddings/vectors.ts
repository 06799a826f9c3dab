/**
 * Arithmetic on embedding vectors, such as cosine similarity. Pure functions, so that they run in a worker and in tests
 * alike.
 */

/** The base64 of little-endian float32 numbers, as the embeddings API sends it. */
export function decodeVector(base64: string): Float32Array {
  const text = atob(base64);
  const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

/** Of length 1, so that the dot product of two vectors is their cosine similarity. A zero vector stays zero. */
export function normalized(vector: Float32Array): Float32Array {
  const length = Math.sqrt(dot(vector, vector));
  return length === 0 ? vector : vector.map((value) => value / length);
}

/** The first `dimensions` numbers, normalized again: what a model with the option `dimensions` returns. */
export const truncated = (vector: Float32Array, dimensions: number): Float32Array =>
  normalized(vector.slice(0, dimensions));

export function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at++) sum += (a[at] as number) * (b[at] as number);
  return sum;
}

/** Cosine similarities of all pairs, row by row. The vectors must be normalized. */
export function similarityMatrix(vectors: readonly Float32Array[]): Float32Array {
  const size = vectors.length;
  const matrix = new Float32Array(size * size);
  for (const [row, a] of vectors.entries()) {
    for (let column = row; column < size; column++) {
      const similarity = dot(a, vectors[column] as Float32Array);
      matrix[row * size + column] = similarity;
      matrix[column * size + row] = similarity;
    }
  }
  return matrix;
}

export interface Neighbor {
  readonly index: number;
  readonly similarity: number;
}

/** The other texts, the most similar first. */
export function neighborsOf(matrix: Float32Array, size: number, index: number): Neighbor[] {
  return Array.from({ length: size }, (_, other) => ({
    index: other,
    similarity: matrix[index * size + other] as number,
  }))
    .filter((neighbor) => neighbor.index !== index)
    .sort((a, b) => b.similarity - a.similarity);
}
