/** OpenAI's embedding models. Sources of prices: price-sources.ts. */
import type { KnownEmbedding } from "./known-embedding.ts";

/** The first source has the context length, the second the dimensions. */
const source =
  "openai/openai-openapi, 2026-08-21; BerriAI/litellm, model_prices_and_context_window.json, 2026-08-08";

export const openai: readonly KnownEmbedding[] = [
  {
    name: "text-embedding-3-small",
    dimensions: 1536,
    // "Remove some numbers from the end of the sequence": OpenAI's guide to embeddings, which does so itself.
    matryoshka: { min: 1 },
    maxTokens: 8192,
    tokenizer: "cl100k_base",
    price: { openai: 0.02, azure: 0.022 },
    source,
  },
  {
    name: "text-embedding-3-large",
    dimensions: 3072,
    matryoshka: { min: 1 },
    maxTokens: 8192,
    tokenizer: "cl100k_base",
    price: { openai: 0.13, azure: 0.143 },
    source,
  },
  {
    name: "text-embedding-ada-002",
    // The name in its own responses.
    also: ["text-embedding-ada-002-v2"],
    dimensions: 1536,
    maxTokens: 8192,
    tokenizer: "cl100k_base",
    price: { openai: 0.1, azure: 0.11 },
    source,
  },
];
