/**
 * Principal component analysis: the two directions in which the vectors differ most. For few vectors, where UMAP has no
 * neighborhoods to keep. Works on the matrix of inner products, which is as small as the number of vectors.
 */
import { dot } from "./vectors.ts";

const iterations = 200;

export function principalComponents(vectors: readonly Float32Array[]): [number, number][] {
  const gram = innerProducts(centered(vectors));
  const first = dominantEigenvector(gram);
  const second = dominantEigenvector(deflated(gram, first));
  return vectors.map((_, at) => [coordinate(first, at), coordinate(second, at)]);
}

interface Eigenvector {
  readonly value: number;
  readonly direction: readonly number[];
}

const coordinate = ({ value, direction }: Eigenvector, at: number): number =>
  Math.sqrt(Math.max(0, value)) * (direction[at] ?? 0);

function centered(vectors: readonly Float32Array[]): Float32Array[] {
  const mean = new Float32Array(vectors[0]?.length ?? 0);
  for (const vector of vectors)
    for (const [at, value] of vector.entries())
      mean[at] = (mean[at] as number) + value / vectors.length;
  return vectors.map((vector) => vector.map((value, at) => value - (mean[at] as number)));
}

const innerProducts = (vectors: readonly Float32Array[]): number[][] =>
  vectors.map((a) => vectors.map((b) => dot(a, b)));

/** Power iteration. */
function dominantEigenvector(matrix: readonly (readonly number[])[]): Eigenvector {
  // The start vector must not be constant: the centered matrix has no component in that direction.
  let direction = matrix.map((_, at) => Math.cos(at + 1));
  let value = 0;
  for (let iteration = 0; iteration < iterations; iteration++) {
    const next = matrix.map((row) =>
      row.reduce((sum, each, at) => sum + each * (direction[at] ?? 0), 0),
    );
    value = Math.hypot(...next);
    // All vectors are the same in every remaining direction.
    if (value < 1e-9) return { value: 0, direction: matrix.map(() => 0) };
    direction = next.map((each) => each / value);
  }
  return { value, direction };
}

/** Without the part that the eigenvector explains. */
const deflated = (
  matrix: readonly (readonly number[])[],
  { value, direction }: Eigenvector,
): number[][] =>
  matrix.map((row, at) =>
    row.map((each, other) => each - value * (direction[at] ?? 0) * (direction[other] ?? 0)),
  );
