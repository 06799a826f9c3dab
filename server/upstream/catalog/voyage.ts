/** Voyage AI's embedding models. Sources of prices: price-sources.ts. */
import { catalogRow, type KnownEmbedding, unproven } from "./known-embedding.ts";

const source = unproven("docs.voyageai.com/docs/embeddings");

/** Models with vectors of four lengths. They also support 2048, which is longer than their default. */
const flexible = (name: string, price: number): KnownEmbedding =>
  catalogRow(name, 1024, 32_000, source, { matryoshka: [256, 512], price: { voyage: price } });

const fixed = (name: string, dimensions: number, maxTokens: number, price: number) =>
  catalogRow(name, dimensions, maxTokens, source, { price: { voyage: price } });

/** BerriAI/litellm 1.109.1, 2026-11-17: one price for all tokens, those of images included. */
const sameForImages = (price: number) => ({ voyage: { tokens: price } });

export const voyage: readonly KnownEmbedding[] = [
  // Voyage calls vectors of the 4 series compatible. They are not identical: switching from one to the other changes
  // distances, so a configuration that uses both must set `sameSpace`.
  flexible("voyage-4-large", 0.12),
  flexible("voyage-4", 0.06),
  flexible("voyage-4-lite", 0.02),
  flexible("voyage-3.5", 0.06),
  flexible("voyage-3.5-lite", 0.02),
  flexible("voyage-3-large", 0.18),
  // mongodb.com/docs/voyageai/models, read on 2026-11-16.
  flexible("voyage-code-4", 0.12),
  flexible("voyage-code-3", 0.18),
  flexible("voyage-context-4", 0.12),
  flexible("voyage-context-3", 0.18),
  { ...flexible("voyage-multimodal-3.5", 0.12), imagePrice: sameForImages(0.12) },
  { ...fixed("voyage-multimodal-3", 1024, 32_000, 0.12), imagePrice: sameForImages(0.12) },
  fixed("voyage-3", 1024, 32_000, 0.06),
  fixed("voyage-3-lite", 512, 32_000, 0.02),
  fixed("voyage-finance-2", 1024, 32_000, 0.12),
  fixed("voyage-law-2", 1024, 16_000, 0.12),
  fixed("voyage-multilingual-2", 1024, 32_000, 0.12),
  fixed("voyage-code-2", 1536, 16_000, 0.12),
];
