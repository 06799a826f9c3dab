/** Projects vectors to two dimensions with UMAP. In a worker, because it computes for seconds. */
import { UMAP } from "umap-js";

export interface ProjectionRequest {
  readonly vectors: readonly Float32Array[];
}

export type ProjectionReport =
  | { readonly type: "progress"; readonly share: number }
  | { readonly type: "done"; readonly points: readonly (readonly [number, number])[] };

/** A fixed seed: the same texts give the same map. */
const seed = 42;

/** Mulberry32: small, and good enough for a layout. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const send = (report: ProjectionReport): void => postMessage(report);

addEventListener("message", ({ data }: MessageEvent<ProjectionRequest>) => {
  const umap = new UMAP({
    nComponents: 2,
    // With few texts, many neighbors would make every text a neighbor of every other.
    nNeighbors: Math.min(15, Math.max(2, Math.floor(Math.sqrt(data.vectors.length)))),
    nEpochs: 500,
    minDist: 0.1,
    random: createRandom(seed),
  });
  const epochs = umap.initializeFit(data.vectors.map((vector) => [...vector]));
  for (let epoch = 0; epoch < epochs; epoch++) {
    umap.step();
    if (epoch % 20 === 0) send({ type: "progress", share: epoch / epochs });
  }
  const points = umap.getEmbedding().map(([x = 0, y = 0]): [number, number] => [x, y]);
  send({ type: "done", points });
});
