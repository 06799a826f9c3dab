/** Mistral's embedding models. Sources of prices: price-sources.ts. */
import { type KnownEmbedding, unproven } from "./known-embedding.ts";

export const mistral: readonly KnownEmbedding[] = [
  {
    name: "mistral-embed",
    // docs.mistral.ai/models/mistral-embed-23-12.
    also: ["mistral-embed-2312"],
    dimensions: 1024,
    maxTokens: 8192,
    price: { mistral: 0.1 },
    source: unproven("docs.mistral.ai/capabilities/embeddings/text_embeddings"),
  },
  {
    name: "codestral-embed",
    also: ["codestral-embed-2505"],
    // Up to 3072 on request.
    dimensions: 1536,
    // Its dimensions are ordered by importance: vercel.com/ai-gateway/models/codestral-embed, according to Mistral.
    matryoshka: { min: 1 },
    maxTokens: 8192,
    price: { mistral: 0.15, openrouter: 0.15 },
    source: unproven("docs.mistral.ai/capabilities/embeddings/code_embeddings"),
  },
];
