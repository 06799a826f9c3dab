/** Jina AI's embedding models, text and images. Sources of prices: price-sources.ts. */
import { type KnownEmbedding, unproven } from "./known-embedding.ts";

const source = unproven("jina.ai/models");

// Facts on the older models that jina.ai no longer has are from qdrant.tech/documentation/embeddings/jina-embeddings.
const v2 = (what: string, dimensions = 768): KnownEmbedding => ({
  name: `jina-embeddings-v2-${what}`,
  dimensions,
  maxTokens: 8192,
  source,
});

export const jina: readonly KnownEmbedding[] = [
  {
    name: "jina-embeddings-v5-text-small",
    dimensions: 1024,
    matryoshka: [32, 64, 128, 256, 512],
    maxTokens: 32_768,
    source,
  },
  {
    name: "jina-embeddings-v5-text-nano",
    dimensions: 768,
    matryoshka: [32, 64, 128, 256, 512],
    maxTokens: 8192,
    source,
  },
  {
    name: "jina-embeddings-v4",
    dimensions: 2048,
    matryoshka: [128, 256, 512, 1024],
    maxTokens: 32_768,
    price: { jina: 0.05 },
    source,
  },
  {
    name: "jina-embeddings-v3",
    dimensions: 1024,
    matryoshka: [32, 64, 128, 256, 512, 768],
    maxTokens: 8192,
    price: { jina: 0.05 },
    source,
  },
  v2("base-en"),
  v2("base-de"),
  v2("base-es"),
  v2("base-zh"),
  v2("base-code"),
  v2("small-en", 512),
  {
    name: "jina-code-embeddings-0.5b",
    dimensions: 896,
    matryoshka: [64, 128, 256, 512],
    maxTokens: 32_768,
    price: { jina: 0.05 },
    source,
  },
  {
    name: "jina-code-embeddings-1.5b",
    dimensions: 1536,
    matryoshka: [128, 256, 512, 1024],
    maxTokens: 32_768,
    price: { jina: 0.05 },
    source,
  },
  {
    name: "jina-clip-v2",
    dimensions: 1024,
    matryoshka: [32, 64, 128, 256, 512, 768],
    maxTokens: 8192,
    source: unproven("huggingface.co/jinaai/jina-clip-v2/blob/main/config.json"),
  },
  { name: "jina-clip-v1", dimensions: 768, maxTokens: 8192, source },
];
