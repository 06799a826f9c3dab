/** Amazon's embedding models. Sources of prices: price-sources.ts. */
import { catalogRow, type KnownEmbedding, unproven } from "./known-embedding.ts";

const source = unproven("docs.aws.amazon.com/bedrock/latest/userguide/titan-embedding-models.html");

/** BerriAI/litellm 1.109.1, 2026-11-17: input_cost_per_image. */
const images = { bedrock: { image: 0.00006 } } as const;

export const amazon: readonly KnownEmbedding[] = [
  catalogRow("titan-embed-text-v1", 1536, 8192, source, { price: { bedrock: 0.1 } }),
  // It supports 512 and 256 too, but Amazon does not document these as prefixes of the 1024.
  catalogRow("titan-embed-text-v2", 1024, 8192, source, { price: { bedrock: 0.02 } }),
  {
    // The same applies to its shorter vectors.
    name: "titan-embed-image-v1",
    dimensions: 1024,
    maxTokens: 256,
    price: { bedrock: 0.8 },
    imagePrice: images,
    source: unproven("docs.aws.amazon.com/bedrock/latest/userguide/titan-multiemb-models.html"),
  },
  {
    // The same applies to its shorter vectors.
    name: "nova-2-multimodal-embeddings-v1",
    dimensions: 3072,
    maxTokens: 8192,
    price: { bedrock: 0.135 },
    imagePrice: images,
    source: unproven("docs.aws.amazon.com/nova/latest/nova2-userguide/embeddings.html"),
  },
];
