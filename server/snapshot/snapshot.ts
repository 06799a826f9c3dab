/** What the data plane believes: frozen, built whole, swapped whole. A request keeps the one it began with. */
import type { KnownEmbedding } from "../upstream/catalogue/index.ts";
import type { Target, Upstream } from "../upstream/contract.ts";

/** Who put a thing there: the file, the environment, the store, or the product itself. */
export type Source = "file" | "environment" | "store" | "embedded";

export interface Model {
  /** What callers send. */
  readonly id: string;
  readonly kind: "embedding" | "image";
  /** Tried in this order. */
  readonly targets: readonly Target[];
  readonly source: Source;
  readonly ownedBy: string;
  readonly description?: string;
  /** Of an embedding model: the length of its vectors when the caller names none. */
  readonly dimensions?: number;
  /** Of an embedding model, and always there: vectors can be compared where this is the same. */
  readonly space?: string;
  /** Of an embedding model whose targets are all the same known weights. */
  readonly known?: KnownEmbedding;
  /** Of an embedding model: every input is asked of an upstream, known or not. */
  readonly uncached?: true;
  /** Of an embedding model: every call travels by itself. */
  readonly unbatched?: true;
  /** Of an image model: the most pictures one call may ask for. */
  readonly maxImages: number;
}

export interface Key {
  readonly id: string;
  readonly name: string;
  /** SHA-256 of the key in hex; the key itself is nowhere. */
  readonly hash: string;
  /** Globs over model ids. */
  readonly models: readonly string[];
  readonly source: Source;
}

export interface Snapshot {
  readonly version: number;
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly models: ReadonlyMap<string, Model>;
  /** By hash. */
  readonly keys: ReadonlyMap<string, Key>;
}
