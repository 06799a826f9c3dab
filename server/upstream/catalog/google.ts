/** Google's embedding models. Sources of prices: price-sources.ts. */
import { catalogRow, confirmed, type KnownEmbedding, unproven } from "./known-embedding.ts";

const vertex = confirmed(
  "cloud.google.com/vertex-ai/generative-ai/docs/embeddings/get-text-embeddings",
);

/** BerriAI/litellm 1.109.1, 2026-11-17: 0.45 for a million image tokens of gemini-embedding-2. */
const images = { gemini: { tokens: 0.45 }, vertex: { tokens: 0.45 } } as const;

export const google: readonly KnownEmbedding[] = [
  {
    name: "gemini-embedding-001",
    // "You won't need to re-embed": developers.googleblog.com/en/gemini-embedding-available-gemini-api.
    also: ["gemini-embedding-exp-03-07"],
    dimensions: 3072,
    matryoshka: { min: 128 },
    maxTokens: 2048,
    price: { gemini: 0.15, vertex: 0.15, vercel: 0.15 },
    source: confirmed("ai.google.dev/gemini-api/docs/embeddings"),
  },
  {
    name: "gemini-embedding-2",
    dimensions: 3072,
    matryoshka: { min: 128 },
    maxTokens: 8192,
    price: { gemini: 0.2, vertex: 0.2, openrouter: 0.2 },
    imagePrice: images,
    source: confirmed("ai.google.dev/gemini-api/docs/models/gemini-embedding-2"),
  },
  {
    // Google does not document that the preview's vectors are those of the final model.
    name: "gemini-embedding-2-preview",
    dimensions: 3072,
    matryoshka: { min: 128 },
    maxTokens: 8192,
    price: { gemini: 0.2, vertex: 0.2, openrouter: 0.2 },
    imagePrice: images,
    source: confirmed("openrouter.ai/google/gemini-embedding-2-preview"),
  },
  {
    name: "multimodalembedding@001",
    also: ["multimodalembedding"],
    dimensions: 1408,
    maxTokens: 32,
    // BerriAI/litellm 1.109.1, 2026-11-17. Texts are charged by character, which a price of tokens cannot say.
    imagePrice: { vertex: { image: 0.0001 } },
    source: unproven(
      "cloud.google.com/vertex-ai/generative-ai/docs/embeddings/get-multimodal-embeddings",
    ),
  },
  // The three models below support shorter vectors, but they are not documented to be prefixes (Matryoshka).
  catalogRow("text-embedding-004", 768, 2048, vertex, { price: { vertex: 0.1 } }),
  catalogRow("text-embedding-005", 768, 2048, vertex, { price: { vertex: 0.1, vercel: 0.025 } }),
  catalogRow("text-multilingual-embedding-002", 768, 2048, vertex, {
    price: { vertex: 0.1, vercel: 0.025 },
  }),
  {
    name: "embeddinggemma-300m",
    // Ollama's copy has 16 bits per weight.
    also: ["embeddinggemma", "embeddinggemma:300m"],
    dimensions: 768,
    matryoshka: [128, 256, 512],
    maxTokens: 2048,
    price: { cloudflare: 0.012, deepinfra: 0.002 },
    source: unproven("huggingface.co/google/embeddinggemma-300m"),
  },
];
