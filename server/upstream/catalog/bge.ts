/** BAAI's BGE models. Sources of prices: price-sources.ts. */
import {
  benchmark,
  catalogRow,
  confirmed,
  type KnownEmbedding,
  unproven,
} from "./known-embedding.ts";

const v15 = (
  what: string,
  dimensions: number,
  rest: Partial<KnownEmbedding> = {},
): KnownEmbedding => ({
  name: `bge-${what}-v1.5`,
  dimensions,
  maxTokens: 512,
  source: `${benchmark}; chonkie-inc/catsu, models.json`,
  ...rest,
});

/**
 * Cloudflare uses mean pooling, BAAI and all others the first token: "not compatible", according to Cloudflare itself.
 */
const meanPooled = (size: string, dimensions: number, price: number): KnownEmbedding => ({
  name: `bge-${size}-en-v1.5-mean`,
  at: { cloudflare: [`bge-${size}-en-v1.5`] },
  dimensions,
  maxTokens: 512,
  price: { cloudflare: price },
  source: unproven(`developers.cloudflare.com/workers-ai/models/bge-${size}-en-v1.5`),
});

export const bge: readonly KnownEmbedding[] = [
  v15("small-en", 384),
  v15("base-en", 768, { price: { deepinfra: 0.005, together: 0.008 } }),
  v15("large-en", 1024, {
    also: ["bge-large:335m-en-v1.5"],
    at: { ollama: ["bge-large", "bge-large:335m"] },
    price: { deepinfra: 0.01 },
  }),
  // docs.databricks.com, supported-models: BGE Large (English); whether it is version 1 or 1.5 is not documented.
  {
    name: "databricks-bge-large-en",
    dimensions: 1024,
    maxTokens: 512,
    price: { databricks: 0.1 },
    source: confirmed(
      "docs.databricks.com/aws/en/machine-learning/foundation-model-apis/supported-models",
    ),
  },
  meanPooled("small", 384, 0.02),
  meanPooled("base", 768, 0.067),
  meanPooled("large", 1024, 0.204),
  v15("small-zh", 512),
  v15("base-zh", 768),
  v15("large-zh", 1024),
  catalogRow("bge-m3", 1024, 8192, benchmark, {
    also: ["bge-m3:567m"],
    at: { venice: ["text-embedding-bge-m3"] },
    price: { cloudflare: 0.012, deepinfra: 0.01, novita: 0.01 },
  }),
  catalogRow("bge-en-icl", 4096, 32_768, benchmark, { price: { nebius: 0.01, deepinfra: 0.01 } }),
  catalogRow("bge-multilingual-gemma2", 3584, 8192, benchmark, {
    price: { nebius: 0.01, scaleway: 0.1 },
  }),
];
