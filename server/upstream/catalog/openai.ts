/** OpenAI's embedding models. Sources of prices: price-sources.ts. */
import { catalogRow, type KnownEmbedding } from "./known-embedding.ts";

/** The first source has the context length, the second the dimensions. */
const source =
  "openai/openai-openapi, 2026-08-21; BerriAI/litellm, model_prices_and_context_window.json, 2026-08-08";

export const openai: readonly KnownEmbedding[] = [
  catalogRow("text-embedding-3-small", 1536, 8192, source, {
    // "Remove some numbers from the end of the sequence": OpenAI's guide to embeddings, which does so itself.
    matryoshka: { min: 1 },
    tokenizer: "cl100k_base",
    price: { openai: 0.02, azure: 0.022, vercel: 0.02 },
  }),
  catalogRow("text-embedding-3-large", 3072, 8192, source, {
    matryoshka: { min: 1 },
    tokenizer: "cl100k_base",
    price: { openai: 0.13, azure: 0.143, vercel: 0.13 },
  }),
  catalogRow("text-embedding-ada-002", 1536, 8192, source, {
    // The name in its own responses.
    also: ["text-embedding-ada-002-v2"],
    tokenizer: "cl100k_base",
    price: { openai: 0.1, azure: 0.11, vercel: 0.1 },
  }),
];
