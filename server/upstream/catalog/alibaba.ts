/** Alibaba's embedding models: Qwen3, GTE, and DashScope's own. Sources of prices: price-sources.ts. */
import { benchmark, type KnownEmbedding, unproven } from "./known-embedding.ts";

/** Ollama's tags without a precision are left out: at Ollama, the larger sizes then have 4 bits per weight. */
const qwen3 = (
  size: string,
  dimensions: number,
  price: Readonly<Record<string, number>>,
  more: Partial<Pick<KnownEmbedding, "also" | "at">> = {},
): KnownEmbedding => ({
  ...more,
  name: `qwen3-embedding-${size}`,
  also: [`qwen3-embedding:${size}-fp16`, `qwen3-embedding:${size}-q8_0`, ...(more.also ?? [])],
  dimensions,
  matryoshka: { min: 32 },
  // Nebius and Fireworks list 40,960 for 4B and 8B, the model card, Novita and Xinference 32,768.
  maxTokens: 32_768,
  price,
  source: unproven("huggingface.co/Qwen/Qwen3-Embedding-8B"),
});

const gte = (
  owner: "thenlper" | "Alibaba-NLP",
  name: string,
  dimensions: number,
  rest: Partial<KnownEmbedding> = {},
): KnownEmbedding => ({
  name,
  dimensions,
  maxTokens: owner === "thenlper" ? 512 : 8192,
  source: `${benchmark}; hivebook.wiki/wiki/gte-alibaba-general-text-embeddings`,
  ...rest,
});

/** These names are valid at DashScope only: a deployment elsewhere may be called `text-embedding-v3`. */
const dashscope = (
  version: 1 | 2 | 3 | 4,
  dimensions: number,
  maxTokens: number,
): KnownEmbedding => ({
  name: `alibaba-text-embedding-v${version}`,
  at: { dashscope: [`text-embedding-v${version}`] },
  dimensions,
  maxTokens,
  source: unproven("help.aliyun.com/en/model-studio/text-embedding-synchronous-api"),
});

/** Texts, images and videos, through an API of its own. Other lengths on request. The prices of Singapore. */
const vision = (
  name: string,
  dimensions: number,
  maxTokens: number,
  prices?: { readonly text: number; readonly image: number },
): KnownEmbedding => ({
  name,
  dimensions,
  maxTokens,
  ...(prices && {
    price: { dashscope: prices.text },
    imagePrice: { dashscope: { tokens: prices.image } },
  }),
  source: unproven("alibabacloud.com/help/en/model-studio/multimodal-embedding-api-reference"),
});

/** The default is 1024; longer vectors on request. */
const qwen37 = (name: string): KnownEmbedding => ({
  name,
  dimensions: 1024,
  maxTokens: 128_000,
  source: "help.aliyun.com/zh/model-studio/text-embedding-api, read on 2026-11-16",
});

export const alibaba: readonly KnownEmbedding[] = [
  qwen3(
    "0.6b",
    1024,
    { deepinfra: 0.01, cloudflare: 0.012, novita: 0.07, databricks: 0.02 },
    { also: ["qwen3-embedding-0p6b"], at: { databricks: ["databricks-qwen3-embedding-0-6b"] } },
  ),
  qwen3("4b", 2560, { deepinfra: 0.02 }),
  qwen3("8b", 4096, {
    deepinfra: 0.01,
    nebius: 0.01,
    novita: 0.07,
    scaleway: 0.1,
    fireworks: 0.1,
  }),
  gte("thenlper", "gte-small", 384),
  gte("thenlper", "gte-base", 768, { price: { fireworks: 0.008, deepinfra: 0.005 } }),
  gte("thenlper", "gte-large", 1024, { price: { fireworks: 0.016, deepinfra: 0.01 } }),
  gte("Alibaba-NLP", "gte-base-en-v1.5", 768),
  gte("Alibaba-NLP", "gte-large-en-v1.5", 1024, {
    at: { databricks: ["databricks-gte-large-en"] },
    price: { databricks: 0.13 },
  }),
  gte("Alibaba-NLP", "gte-multilingual-base", 768, { matryoshka: { min: 128 } }),
  gte("Alibaba-NLP", "gte-modernbert-base", 768),
  gte("Alibaba-NLP", "gte-qwen2-1.5b-instruct", 1536, { maxTokens: 32_768 }),
  gte("Alibaba-NLP", "gte-qwen2-7b-instruct", 3584, { maxTokens: 32_768 }),
  // v3 and v4 support shorter vectors, but they are not documented to be prefixes (Matryoshka).
  dashscope(1, 1536, 2048),
  dashscope(2, 1536, 2048),
  dashscope(3, 1024, 8192),
  dashscope(4, 1024, 8192),
  qwen37("qwen3.7-text-embedding"),
  qwen37("qwen3.7-text-embedding-flash"),
  // Only in Beijing, where prices are not in US dollars.
  vision("qwen3-vl-embedding", 2560, 32_000),
  vision("tongyi-embedding-vision-plus", 1152, 1024, { text: 0.09, image: 0.09 }),
  vision("tongyi-embedding-vision-flash", 768, 1024, { text: 0.09, image: 0.03 }),
];
