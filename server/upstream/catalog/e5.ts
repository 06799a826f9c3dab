/** Microsoft's E5 models. Sources of prices: price-sources.ts. */
import { benchmark, catalogRow, type KnownEmbedding } from "./known-embedding.ts";

const e5Model = (name: string, dimensions: number, price?: number): KnownEmbedding => ({
  name,
  dimensions,
  maxTokens: 512,
  ...(price !== undefined && { price: { deepinfra: price } }),
  source: benchmark,
});

export const e5: readonly KnownEmbedding[] = [
  e5Model("e5-small-v2", 384),
  e5Model("e5-base-v2", 768, 0.005),
  e5Model("e5-large-v2", 1024, 0.005),
  e5Model("multilingual-e5-small", 384),
  e5Model("multilingual-e5-base", 768),
  e5Model("multilingual-e5-large", 1024, 0.01),
  e5Model("multilingual-e5-large-instruct", 1024),
  catalogRow("e5-mistral-7b-instruct", 4096, 32_768, benchmark, { price: { nebius: 0.01 } }),
];
