/** Catalog facts of one embedding model: about its weights, independent of the upstream that serves it. */
import type { TokenizerName } from "../tokenizers.ts";

export interface KnownEmbedding {
  /** The one name of these weights, in small letters; also the name of their vector space. */
  readonly name: string;
  /** Vendors' names for the same weights, in lower case, without the owner before the slash. */
  readonly also?: readonly string[];
  /** Names that mean these weights at one kind of upstream only: too plain to mean anything elsewhere. */
  readonly at?: Readonly<Record<string, readonly string[]>>;
  /** The length of a vector if a request has no `dimensions`. */
  readonly dimensions: number;
  /** Shorter vectors are the beginnings of longer ones: of any length from `min`, or of these lengths. Absent: they are not. */
  readonly matryoshka?: readonly number[] | { readonly min: number };
  /** Of one input. */
  readonly maxTokens: number;
  readonly tokenizer?: TokenizerName;
  /** US dollars for a million input tokens, by kind of upstream. Where and when each was read: price-sources.ts. */
  readonly price?: Readonly<Record<string, number>>;
  /** Where these facts come from. */
  readonly source: string;
}

/** A source: what the Massive Text Embedding Benchmark writes down of the models it has run, as of 2026-08-22. */
export const benchmark = "embeddings-benchmark/mteb, mteb/models/model_implementations";

/** Whether a vector of this model, cut to that many numbers and brought to length 1, is still one of its vectors. */
export function canTruncateTo({ dimensions, matryoshka }: KnownEmbedding, length: number): boolean {
  if (length === dimensions) return true;
  if (!matryoshka || length > dimensions) return false;
  return "min" in matryoshka ? length >= matryoshka.min : matryoshka.includes(length);
}
