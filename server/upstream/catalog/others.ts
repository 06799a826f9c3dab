/** Families of one or two models. Sources of prices: price-sources.ts. */
import {
  benchmark,
  catalogRow,
  confirmed,
  type KnownEmbedding,
  unproven,
} from "./known-embedding.ts";

/** A query model and a passage model: made for each other, but not interchangeable. */
const solar = (version: string, dimensions: number, maxTokens: number): KnownEmbedding[] =>
  ["query", "passage"].map((role) => ({
    // The aliases `embedding-query` and `embedding-passage` will move from version 1 to 2, so they identify neither.
    name: `solar-embedding-${version}-${role}`,
    dimensions,
    maxTokens,
    source: unproven("console.upstage.ai/docs/capabilities/embed"),
  }));

/** These names are valid at one kind of upstream only. */
const zhipu = (version: 2 | 3, dimensions: number, maxTokens: number): KnownEmbedding => ({
  name: `zhipu-embedding-${version}`,
  at: { zhipu: [`embedding-${version}`] },
  dimensions,
  maxTokens,
  source: unproven("docs.bigmodel.cn/api-reference"),
});

/** Volcengine's own examples truncate its vectors and normalize them. */
const doubao = (
  name: string,
  dimensions: number,
  matryoshka: readonly number[],
): KnownEmbedding => ({
  name: `doubao-embedding-${name}`,
  dimensions,
  matryoshka,
  maxTokens: 4096,
  source: confirmed("volcengine.com/docs/82379/1302003"),
});

const perplexity = (
  family: "v1" | "context-v1",
  size: string,
  dimensions: number,
  price: number,
): KnownEmbedding => ({
  name: `pplx-embed-${family}-${size}`,
  dimensions,
  maxTokens: 32_768,
  price: { perplexity: price },
  source: (family === "v1" ? confirmed : unproven)("docs.perplexity.ai/docs/embeddings/quickstart"),
});

/** These names are valid at GigaChat only. litellm 1.109.1 lists them as free, which is no price. */
const gigachat = (name: string, dimensions: number, maxTokens: number): KnownEmbedding => ({
  name: `gigachat-${name.toLowerCase()}`,
  at: { gigachat: [name.toLowerCase()] },
  dimensions,
  maxTokens,
  source: "litellm 1.109.1, model_prices_and_context_window.json, 2026-11-17",
});

export const others: readonly KnownEmbedding[] = [
  {
    name: "mxbai-embed-large-v1",
    // Ollama's copy has 16 bits per weight.
    also: ["mxbai-embed-large", "mxbai-embed-large:335m", "mxbai-embed-large:335m-v1"],
    dimensions: 1024,
    maxTokens: 512,
    source: unproven("mixedbread.com/docs/models/embedding"),
  },
  {
    name: "deepset-mxbai-embed-de-large-v1",
    dimensions: 1024,
    maxTokens: 512,
    source: unproven("mixedbread.com/docs/models/embedding"),
  },
  ...solar("1-large", 4096, 4000),
  ...solar("2", 1024, 8192),
  perplexity("v1", "0.6b", 1024, 0.004),
  perplexity("v1", "4b", 2560, 0.03),
  perplexity("context-v1", "0.6b", 1024, 0.008),
  perplexity("context-v1", "4b", 2560, 0.05),
  zhipu(2, 1024, 512),
  zhipu(3, 2048, 3072),
  doubao("text-240715", 2560, [512, 1024, 2048]),
  doubao("large-text-240915", 4096, [512, 1024, 2048]),
  doubao("large-text-250515", 2048, [256, 512, 1024]),
  gigachat("Embeddings", 1024, 512),
  gigachat("Embeddings-2", 1024, 512),
  gigachat("EmbeddingsGigaR", 2560, 4096),
  gigachat("GigaEmbeddings-3B-2025-09", 2048, 4096),
  // TwelveLabs and Amazon charge for queries and not for tokens, so these have no price. Nobody documents that the
  // vectors of Bedrock are those of TwelveLabs.
  catalogRow("marengo3.5", 512, 2000, "twelvelabs 1.3.6, embed/v_2, 2026-11-17", {
    matryoshka: [256],
  }),
  catalogRow("marengo3.0", 512, 500, "twelvelabs 1.3.6, embed/v_2, 2026-11-17"),
  {
    name: "marengo-embed-3-0-v1",
    dimensions: 512,
    maxTokens: 500,
    // The same list: input_cost_per_image.
    imagePrice: { bedrock: { image: 0.0001 } },
    source: "litellm 1.109.1, model_prices_and_context_window.json, 2026-11-17",
  },
  catalogRow("uae-large-v1", 1024, 512, benchmark, { price: { fireworks: 0.016 } }),
  {
    name: "bce-embedding-base_v1",
    dimensions: 768,
    maxTokens: 512,
    source: unproven("inference.readthedocs.io/en/v1.9.0/models/builtin/embedding"),
  },
];
