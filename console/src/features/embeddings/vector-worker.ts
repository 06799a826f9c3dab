/**
 * Reads the texts of a file; holds the vectors of one model and computes with them. In a worker, because large files and
 * hundreds of vectors take seconds, for which the page would not respond.
 */
import { UMAP } from "umap-js";
import { pixelsOf } from "./heat-map-pixels.ts";
import { principalComponents } from "./pca.ts";
import { qualityCurve, rankingQuality } from "./ranking-quality.ts";
import { readFileTexts } from "./read-texts.ts";
import {
  decodeVector,
  type Neighbor,
  neighborsOf,
  normalized,
  similarityMatrix,
} from "./vectors.ts";

export type Point = readonly [x: number, y: number];

export interface Projected {
  readonly method: "PCA" | "UMAP";
  readonly points: readonly Point[];
}

interface EmbeddingsResponse {
  readonly data: readonly { readonly index: number; readonly embedding: string }[];
  readonly usage: { readonly total_tokens: number };
}

/** Called with the share of the work that is done. */
type Report = (share: number) => void;

/** Normalized, in the order of the entries. */
const vectors: Float32Array[] = [];
/** Of all pairs. Undefined if not computed yet. */
let matrix: Float32Array | undefined;
function similarities(): Float32Array {
  matrix ??= similarityMatrix(vectors);
  return matrix;
}

const operations = {
  read: ({ file, column }: { readonly file: File; readonly column: string | undefined }) =>
    readFileTexts(file, column),
  /** Adds the vectors of an embeddings response. Returns its tokens. */
  add(response: ArrayBuffer): number {
    const { data, usage }: EmbeddingsResponse = JSON.parse(new TextDecoder().decode(response));
    const ordered = [...data].sort((a, b) => a.index - b.index);
    vectors.push(...ordered.map(({ embedding }) => normalized(decodeVector(embedding))));
    matrix = undefined;
    return usage.total_tokens;
  },
  /** The similarity of every pair, row by row, and its color. */
  similarities: (_: null) => ({
    dimensions: vectors[0]?.length ?? 0,
    matrix: similarities(),
    pixels: pixelsOf(similarities()),
  }),
  quality: (dimensions: number): number | null => rankingQuality(vectors, dimensions),
  curve: (_: null) => qualityCurve(vectors),
  project: async (_: null, report: Report): Promise<Projected> =>
    vectors.length < minUmapTexts
      ? { method: "PCA", points: principalComponents(vectors) }
      : { method: "UMAP", points: await umapPoints(report) },
  /** JSON lines, the format that most vector databases import. */
  lines({
    names,
    model,
  }: {
    /** The member of each line that says what was embedded. */
    readonly names: readonly Readonly<Record<string, string>>[];
    readonly model: string;
  }): Blob {
    const lines = vectors.map((vector, at) =>
      JSON.stringify({ ...names[at], model, embedding: [...vector] }),
    );
    return new Blob([lines.join("\n")]);
  },
};

export type VectorOperations = typeof operations;
type Name = keyof VectorOperations;

export interface VectorRequest {
  readonly id: number;
  readonly name: Name;
  readonly argument: unknown;
}

export type VectorResponse =
  | { readonly id: number; readonly type: "progress"; readonly share: number }
  | { readonly id: number; readonly type: "done"; readonly result: unknown }
  | { readonly id: number; readonly type: "failed"; readonly reason: string };

/** With fewer texts, every text is a neighbor of every other, and UMAP places them at random. */
const minUmapTexts = 10;
/** A fixed seed: the same texts give the same map. */
const seed = 42;
const epochsPerTurn = 20;

async function umapPoints(report: Report): Promise<Point[]> {
  // With few texts, many neighbors would make every text a neighbor of every other.
  const nNeighbors = Math.min(15, Math.max(2, Math.floor(Math.sqrt(vectors.length))));
  const umap = new UMAP({
    nComponents: 2,
    nNeighbors,
    nEpochs: 500,
    minDist: 0.1,
    random: createRandom(seed),
  });
  // The similarities are known: the search for neighbors in the library takes a hundred times as long.
  const nearest = vectors.map((_, at) =>
    neighborsOf(similarities(), vectors.length, at).slice(0, nNeighbors - 1),
  );
  // As in the library, the nearest neighbor of a text is the text itself.
  umap.setPrecomputedKNN(
    nearest.map((neighbors, at) => [at, ...neighbors.map(({ index }) => index)]),
    nearest.map((neighbors) => [0, ...neighbors.map(distanceOf)]),
  );
  // With known neighbors, the library reads only the number of vectors.
  const epochs = umap.initializeFit(vectors.map(() => []));
  for (let epoch = 0; epoch < epochs; epoch++) {
    umap.step();
    if (epoch % epochsPerTurn !== 0) continue;
    report(epoch / epochs);
    // The requests that have arrived meanwhile come first.
    await new Promise((resolve) => setTimeout(resolve));
  }
  return umap.getEmbedding().map(([x = 0, y = 0]): Point => [x, y]);
}

/** The Euclidean distance of normalized vectors, by their cosine similarity. */
const distanceOf = ({ similarity }: Neighbor): number => Math.sqrt(Math.max(0, 2 - 2 * similarity));

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

const send = (response: VectorResponse): void => postMessage(response);

addEventListener("message", async ({ data }: MessageEvent<VectorRequest>) => {
  const { id, name, argument } = data;
  const operate = operations[name] as (argument: unknown, report: Report) => unknown;
  try {
    const result = await operate(argument, (share) => send({ id, type: "progress", share }));
    send({ id, type: "done", result });
  } catch (error) {
    send({ id, type: "failed", reason: error instanceof Error ? error.message : String(error) });
  }
});
