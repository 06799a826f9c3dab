/**
 * Nomic's embedding models. Prices as listed on 2026-08-08 in BerriAI/litellm, model_prices_and_context_window.json.
 */
import { benchmark, catalogRow, type KnownEmbedding, unproven } from "./known-embedding.ts";

export const nomic: readonly KnownEmbedding[] = [
  catalogRow("nomic-embed-text-v1", 768, 8192, benchmark, { price: { fireworks: 0.008 } }),
  {
    name: "nomic-embed-text-v1.5",
    // Ollama's copy is this model with 16 bits per weight, which is the same space. It encodes positions beyond 2048
    // tokens differently from Nomic; such texts are rare, and truncated there by default.
    also: ["nomic-embed-text", "nomic-embed-text:v1.5", "nomic-embed-text:137m-v1.5"],
    dimensions: 768,
    matryoshka: [64, 128, 256, 512],
    maxTokens: 8192,
    price: { fireworks: 0.008 },
    source: unproven("huggingface.co/nomic-ai/nomic-embed-text-v1.5"),
  },
  {
    name: "nomic-embed-text-v2-moe",
    dimensions: 768,
    matryoshka: [256],
    maxTokens: 512,
    source: unproven("huggingface.co/nomic-ai/nomic-embed-text-v2-moe"),
  },
  catalogRow("nomic-embed-code", 3584, 32_768, benchmark),
  catalogRow("modernbert-embed-base", 768, 8192, benchmark),
];
