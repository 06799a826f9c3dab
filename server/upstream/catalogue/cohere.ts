/** Cohere's embedding models. Prices as listed on 2026-08-08 in BerriAI/litellm, model_prices_and_context_window.json. */
import type { KnownEmbedding } from "./known-embedding.ts";

const source = "docs.cohere.com/docs/cohere-embed";

/** Azure and Hugging Face put the owner's name in front, Bedrock leaves out the point. */
const v3 = (what: "english" | "multilingual"): KnownEmbedding => ({
  name: `embed-${what}-v3.0`,
  also: [`embed-${what}-v3`, `cohere-embed-${what}-v3.0`, `cohere-embed-v3-${what}`],
  dimensions: 1024,
  maxTokens: 512,
  price: { cohere: 0.1, bedrock: 0.1, "azure-ai": 0.1 },
  source,
});

const light = (what: "english" | "multilingual"): KnownEmbedding => ({
  name: `embed-${what}-light-v3.0`,
  also: [`embed-${what}-light-v3`, `cohere-embed-${what}-light-v3.0`],
  dimensions: 384,
  maxTokens: 512,
  source,
});

export const cohere: readonly KnownEmbedding[] = [
  {
    name: "embed-v4.0",
    also: ["embed-v4", "embed-v-4-0", "cohere-embed-v-4-0", "cohere-embed-v4"],
    dimensions: 1536,
    matryoshka: [256, 512, 1024],
    maxTokens: 128_000,
    price: { cohere: 0.12, bedrock: 0.12, "azure-ai": 0.12 },
    source,
  },
  v3("english"),
  v3("multilingual"),
  light("english"),
  light("multilingual"),
];
