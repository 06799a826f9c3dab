/** Jina AI's embedding models, text and images. Sources of prices: price-sources.ts. */
import { catalogRow, type KnownEmbedding, unproven } from "./known-embedding.ts";

const source = unproven("jina.ai/models");

// Facts on the older models that jina.ai no longer has are from qdrant.tech/documentation/embeddings/jina-embeddings.
const v2 = (what: string, dimensions = 768): KnownEmbedding =>
  catalogRow(`jina-embeddings-v2-${what}`, dimensions, 8192, source);

export const jina: readonly KnownEmbedding[] = [
  catalogRow("jina-embeddings-v5-text-small", 1024, 32_768, source, {
    matryoshka: [32, 64, 128, 256, 512],
  }),
  catalogRow("jina-embeddings-v5-text-nano", 768, 8192, source, {
    matryoshka: [32, 64, 128, 256, 512],
  }),
  catalogRow("jina-embeddings-v4", 2048, 32_768, source, {
    matryoshka: [128, 256, 512, 1024],
    price: { jina: 0.05 },
    // The price of all tokens.
    imagePrice: { jina: { tokens: 0.05 } },
  }),
  catalogRow("jina-embeddings-v3", 1024, 8192, source, {
    matryoshka: [32, 64, 128, 256, 512, 768],
    price: { jina: 0.05 },
  }),
  v2("base-en"),
  v2("base-de"),
  v2("base-es"),
  v2("base-zh"),
  v2("base-code"),
  v2("small-en", 512),
  catalogRow("jina-code-embeddings-0.5b", 896, 32_768, source, {
    matryoshka: [64, 128, 256, 512],
    price: { jina: 0.05 },
  }),
  catalogRow("jina-code-embeddings-1.5b", 1536, 32_768, source, {
    matryoshka: [128, 256, 512, 1024],
    price: { jina: 0.05 },
  }),
  {
    name: "jina-clip-v2",
    dimensions: 1024,
    matryoshka: [32, 64, 128, 256, 512, 768],
    maxTokens: 8192,
    source: unproven("huggingface.co/jinaai/jina-clip-v2/blob/main/config.json"),
  },
  catalogRow("jina-clip-v1", 768, 8192, source),
];
