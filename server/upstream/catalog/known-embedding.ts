/** Catalog facts of one embedding model: about its weights, independent of the upstream that serves it. */
import type { ImageInputPrice } from "../price.ts";
import type { TokenizerName } from "../tokenizers.ts";

export interface KnownEmbedding {
  /** The canonical name of these weights, in lower case; also the name of their vector space. */
  readonly name: string;
  /** Vendors' names for the same weights, in lower case, without the owner before the slash. */
  readonly also?: readonly string[];
  /** Names of these weights at one kind of upstream only: elsewhere they are too generic to identify a model. */
  readonly at?: Readonly<Record<string, readonly string[]>>;
  /** The length of a vector if a request has no `dimensions`. */
  readonly dimensions: number;
  /** Matryoshka: prefixes of any length from `min`, or of these lengths, are valid vectors. If absent, none are. */
  readonly matryoshka?: readonly number[] | { readonly min: number };
  /** Maximum tokens of one input. */
  readonly maxTokens: number;
  readonly tokenizer?: TokenizerName;
  /** US dollars for a million input tokens, by kind of upstream. Where and when each was read: price-sources.ts. */
  readonly price?: Readonly<Record<string, number>>;
  /** The same for images, in US dollars. If absent, the model reads texts only, or the price is not known. */
  readonly imagePrice?: Readonly<Record<string, ImageInputPrice>>;
  /** The source of these facts, and its date: `unproven` or `confirmed` if the page itself has no date. */
  readonly source: string;
}

/** A row of the catalog in one line, where its source is short. */
export const catalogRow = (
  name: string,
  dimensions: number,
  maxTokens: number,
  source: string,
  more: Partial<KnownEmbedding> = {},
): KnownEmbedding => ({ name, dimensions, maxTokens, source, ...more });

/** A source: the model metadata of the Massive Text Embedding Benchmark (MTEB). */
export const benchmark = "embeddings-benchmark/mteb, mteb/models/model_implementations, 2026-08-22";

/** The page has no date, and no dated source was found that has both dimensions and context length of the row. */
export const unproven = (page: string): string => `${page}, unproven in the check of 2026-11-16`;

/** The page has no date, and a dated list has the same dimensions and the same context length. */
export const confirmed = (page: string): string =>
  `${page}; the same in BerriAI/litellm, model_prices_and_context_window.json, 2026-08-08`;

/** Whether a vector of this model is still valid after truncation to that many dimensions and normalization. */
export function canTruncateTo({ dimensions, matryoshka }: KnownEmbedding, length: number): boolean {
  if (length === dimensions) return true;
  if (!matryoshka || length > dimensions) return false;
  return "min" in matryoshka ? length >= matryoshka.min : matryoshka.includes(length);
}
