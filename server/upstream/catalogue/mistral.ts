/** Mistral's embedding models. Prices as listed on 2026-08-08 in BerriAI/litellm, model_prices_and_context_window.json. */
import type { KnownEmbedding } from "./known-embedding.ts";

export const mistral: readonly KnownEmbedding[] = [
  {
    name: "mistral-embed",
    dimensions: 1024,
    maxTokens: 8192,
    price: { mistral: 0.1 },
    source: "docs.mistral.ai/capabilities/embeddings/text_embeddings",
  },
  {
    name: "codestral-embed",
    also: ["codestral-embed-2505"],
    // Up to 3072, if asked for.
    dimensions: 1536,
    // Its dimensions are in the order of their weight: vercel.com/ai-gateway/models/codestral-embed, after Mistral.
    matryoshka: { min: 1 },
    maxTokens: 8192,
    price: { mistral: 0.15, openrouter: 0.15 },
    source: "docs.mistral.ai/capabilities/embeddings/code_embeddings",
  },
];
