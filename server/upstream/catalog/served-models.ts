/**
 * Known models: the models that each kind of upstream is known to serve, so that a provider's API key alone is enough
 * to use it. Only verified rows: a missing model can be named in vexel.yaml, a wrong one fails at the client. Facts
 * that do not depend on the upstream, such as dimensions, are in server/upstream/catalog/.
 */

import type { ModelKind } from "../../../contract/model-kinds.ts";
import { kinds } from "../kinds.ts";
import { knownEmbedding } from "./index.ts";

export interface CatalogModel {
  readonly id: string;
  readonly kind: ModelKind;
  readonly dimensions?: number;
}

// openai-python 3.49.0, 2026-11-15: EmbeddingModel.
const openaiEmbeddings = [
  "text-embedding-3-small",
  "text-embedding-3-large",
  "text-embedding-ada-002",
];

/** Embedding models known to be served by each kind of upstream. */
const embeddings: Readonly<Record<string, readonly string[]>> = {
  openai: openaiEmbeddings,
  azure: openaiEmbeddings,
  // ai.google.dev/gemini-api/docs/models.
  gemini: ["gemini-embedding-001", "gemini-embedding-2"],
  // docs.mistral.ai/capabilities/embeddings/text_embeddings; codestral-embed:
  // vercel.com/ai-gateway/models/codestral-embed.
  mistral: ["mistral-embed", "codestral-embed"],
  // docs.cohere.com/docs/cohere-embed; Embed 5: docs.cohere.com/changelog/embed-v5, 2026-09-30.
  cohere: [
    "embed-v5.0-pro",
    "embed-v5.0-fast",
    "embed-v4.0",
    "embed-english-v3.0",
    "embed-multilingual-v3.0",
    "embed-english-light-v3.0",
    "embed-multilingual-light-v3.0",
  ],
  // mongodb.com/docs/voyageai/models, read on 2026-11-16.
  voyage: [
    "voyage-4-large",
    "voyage-4",
    "voyage-4-lite",
    "voyage-code-4",
    "voyage-code-3",
    "voyage-context-4",
    "voyage-multimodal-3.5",
    "voyage-finance-2",
    "voyage-law-2",
  ],
  // docs.aws.amazon.com/bedrock/latest/userguide/models-supported.html: models that need no inference profile.
  bedrock: [
    "amazon.titan-embed-text-v2:0",
    "cohere.embed-english-v3",
    "cohere.embed-multilingual-v3",
  ],
  // docs.nomic.ai/atlas/models/text-embedding.
  nomic: ["nomic-embed-text-v1.5", "nomic-embed-text-v1"],
  // docs.perplexity.ai/docs/embeddings, read on 2026-11-16.
  perplexity: [
    "pplx-embed-v1-0.6b",
    "pplx-embed-v1-4b",
    "pplx-embed-context-v1-0.6b",
    "pplx-embed-context-v1-4b",
  ],
  // developers.cloudflare.com/workers-ai/models.
  cloudflare: [
    "@cf/baai/bge-m3",
    "@cf/baai/bge-small-en-v1.5",
    "@cf/baai/bge-base-en-v1.5",
    "@cf/baai/bge-large-en-v1.5",
    "@cf/qwen/qwen3-embedding-0.6b",
    "@cf/google/embeddinggemma-300m",
  ],
  // docs.agno.com/reference/knowledge/embedder/together: the only embedding model left on the serverless list.
  together: ["intfloat/multilingual-e5-large-instruct"],
  // docs.fireworks.ai/guides/querying-embeddings-models: the only one that needs no dedicated deployment.
  fireworks: ["fireworks/qwen3-embedding-8b"],
  // deepinfra.com/BAAI/bge-m3/api, /Qwen/Qwen3-Embedding-0.6B/api.
  deepinfra: ["BAAI/bge-m3", "Qwen/Qwen3-Embedding-0.6B"],
  // developers.llamaindex.ai/python/examples/embeddings/nebius, docs.langchain.com integrations/providers/nebius.
  nebius: ["BAAI/bge-en-icl"],
  // milvus.io/docs/v2.6.x/siliconflow.md, oceanbase.ai/docs/siliconflow-py.
  siliconflow: ["BAAI/bge-m3", "Qwen/Qwen3-Embedding-8B"],
  // openrouter.ai/<model>/api, each read.
  openrouter: [
    "openai/text-embedding-3-small",
    "openai/text-embedding-3-large",
    "google/gemini-embedding-001",
    // Released there on 2026-05-20.
    "google/gemini-embedding-2",
    "qwen/qwen3-embedding-4b",
    "qwen/qwen3-embedding-0.6b",
    // Available at OpenRouter since 2026-11-03.
    "cohere/embed-5-pro",
    "cohere/embed-5-fast",
  ],
  // jina.ai/models/<id>, qdrant.tech/documentation/embeddings/jina-embeddings.
  jina: [
    "jina-embeddings-v5-text-small",
    "jina-embeddings-v5-text-nano",
    "jina-embeddings-v4",
    "jina-embeddings-v3",
    "jina-clip-v2",
  ],
  // console.upstage.ai/docs/capabilities/embed. Solar Embedding 1 and the aliases that point to it end with 2026.
  upstage: ["solar-embedding-2-query", "solar-embedding-2-passage"],
  // mixedbread.com/docs/models/embedding.
  mixedbread: [
    "mixedbread-ai/mxbai-embed-large-v1",
    "mixedbread-ai/deepset-mxbai-embed-de-large-v1",
  ],
  // docs.api.nvidia.com/nim/reference/retrieval-apis.
  nvidia: ["nvidia/nv-embedqa-e5-v5", "nvidia/llama-nemotron-embed-vl-1b-v2", "baai/bge-m3"],
  // alibabacloud.com/help/en/model-studio/text-embedding-synchronous-api.
  // qwen3-vl-embedding is served in Beijing only, and the default base URL is that of Singapore.
  dashscope: ["qwen3.7-text-embedding", "text-embedding-v4", "text-embedding-v3"],
  // ibm.com/docs/en/watsonx/saas?topic=models-supported-encoder-foundation.
  watsonx: [
    "ibm/granite-embedding-278m-multilingual",
    "ibm/slate-125m-english-rtrvr-v2",
    "intfloat/multilingual-e5-large",
  ],
  // docs.databricks.com/aws/en/machine-learning/foundation-model-apis/supported-models: preconfigured endpoints.
  databricks: [
    "databricks-gte-large-en",
    "databricks-bge-large-en",
    "databricks-qwen3-embedding-0-6b",
  ],
  // BerriAI/litellm, model_prices_and_context_window.json, for the next five.
  volcengine: [
    "doubao-embedding-large-text-250515",
    "doubao-embedding-text-240715",
    // GizClaw/flowcraft#7.
    "doubao-embedding-vision-251215",
  ],
  novita: ["baai/bge-m3", "qwen/qwen3-embedding-8b", "qwen/qwen3-embedding-0.6b"],
  vercel: [
    "openai/text-embedding-3-small",
    "openai/text-embedding-3-large",
    "google/gemini-embedding-001",
  ],
  cometapi: ["text-embedding-3-small", "text-embedding-3-large"],
  aihubmix: ["text-embedding-3-small", "text-embedding-3-large"],
  // docs.bigmodel.cn/api-reference.
  zhipu: ["embedding-3", "embedding-2"],
  // langgenius/dify-official-plugins, models/wenxin.
  qianfan: ["embedding-v1", "bge-large-zh", "bge-large-en"],
  // endpoints.ai.cloud.ovh.net/catalog.
  ovhcloud: ["BGE-M3", "bge-multilingual-gemma2"],
  // docs.venice.ai/api-reference/endpoint/embeddings/generate.
  venice: ["text-embedding-bge-m3"],
  // digitalocean/openapi, resources/inference.
  digitalocean: ["qwen3-embedding-0.6b"],
  // litellm 1.109.1, 2026-11-17.
  gigachat: ["Embeddings-2", "EmbeddingsGigaR", "GigaEmbeddings-3B-2025-09"],
  // twelvelabs 1.3.6, CreateEmbeddingsRequestModelName.
  twelvelabs: ["marengo3.5", "marengo3.0"],
  // ollama.com/search?c=embedding, read on 2026-11-18. Each works once it is pulled.
  ollama: [
    "nomic-embed-text",
    "mxbai-embed-large",
    "embeddinggemma",
    "all-minilm",
    "qwen3-embedding",
    "bge-m3",
    "snowflake-arctic-embed2",
    "nomic-embed-text-v2-moe",
  ],
};

/**
 * Image models known to be served by each kind of upstream. Only a few verified rows: the adapter names the source of
 * each, and any other model of the vendor can be named in vexel.yaml. A model that its vendor shuts down stays until
 * its shutdown date, if that is more than two weeks away: catalog/shutdowns/images.ts.
 */
const images: Readonly<Record<string, readonly string[]>> = {
  // openai-python 3.49.0, 2026-11-15: ImageModel. dall-e-2, dall-e-3 and gpt-image-1 are shut down; gpt-image-1-mini,
  // gpt-image-1.5 and chatgpt-image-latest end on 2026-12-01.
  openai: [
    "gpt-image-2",
    "gpt-image-2.5-sunburst",
    "gpt-image-2.5-flare",
    "gpt-image-2.6-sunburst",
    "gpt-image-2.6-flare",
  ],
  // MicrosoftDocs/azure-ai-docs, foundry/openai/how-to/dall-e.md. Used as deployment names if none are given.
  azure: [
    "gpt-image-1-mini",
    "gpt-image-1.5",
    "gpt-image-2",
    // litellm 1.108.4, 2026-11-15.
    "gpt-image-2.5-sunburst",
    "gpt-image-2.5-flare",
  ],
  // gemini-3-pro-image: litellm 1.109.1, 2026-11-17. gemini-3.1-flash-image ended on 2026-10-29.
  gemini: ["gemini-nano-banana-2.1", "gemini-3-pro-image", "gemini-2.5-flash-image"],
  bedrock: ["stability.sd3-5-large-v1:0", "stability.stable-image-core-v1:1"],
  bfl: ["flux-2-pro", "flux-pro-1.1", "flux-kontext-pro"],
  stability: ["stable-image-core", "stable-image-ultra", "sd3.5-large"],
  fal: ["fal-ai/flux/dev", "fal-ai/flux-2-pro", "fal-ai/nano-banana", "fal-ai/nano-banana-2"],
  replicate: ["black-forest-labs/flux-schnell", "black-forest-labs/flux-2-pro"],
  luma: ["photon-1"],
  "luma-agents": ["uni-1"],
  // runwayml 5.24.0, types/text_to_image_create_params.py.
  runway: ["gen4_image", "muse_image", "seedream5_pro"],
  runware: ["runware:101@1"],
  recraft: ["recraftv3", "recraftv4_1"],
  ideogram: ["ideogram-4-5", "ideogram-3"],
  // wavespeed.ai/docs/docs-api, read on 2026-11-18.
  wavespeed: ["wavespeed-ai/flux-dev-ultra-fast", "wavespeed-ai/flux-srpo"],
  xai: ["grok-imagine-image", "grok-imagine-image-2.0"],
  minimax: ["image-01"],
  together: ["black-forest-labs/FLUX.2-pro", "black-forest-labs/FLUX.1-schnell"],
  fireworks: [
    "accounts/fireworks/models/flux-1-schnell-fp8",
    "accounts/fireworks/models/flux-kontext-pro",
  ],
  deepinfra: ["black-forest-labs/FLUX-1-schnell"],
  siliconflow: ["Kwai-Kolors/Kolors", "Qwen/Qwen-Image"],
  // openrouter.ai/<model>: the list of its 52 image models, September 2026.
  openrouter: [
    "openai/gpt-image-2",
    "openai/gpt-image-2.5-sunburst",
    "google/gemini-2.5-flash-image",
    "black-forest-labs/flux.2-pro",
  ],
  cloudflare: ["@cf/black-forest-labs/flux-1-schnell", "@cf/black-forest-labs/flux-2-dev"],
  // qwen-image-3.0 and -pro: litellm 1.109.1, 2026-11-17.
  dashscope: [
    "qwen-image-plus",
    "qwen-image-2.0-pro",
    "qwen-image-3.0",
    "qwen-image-3.0-pro",
    "wan2.7-image",
  ],
  // docs.volcengine.com/docs/82379/1541523 and 1330310, copies of 2026-07 to 2026-10.
  volcengine: [
    "doubao-seedream-4-0-250828",
    "doubao-seedream-4-5-251128",
    "doubao-seedream-5-0-260128",
    "doubao-seedream-5-0-pro-260628",
    "doubao-seedream-5-0-flash-260915",
  ],
  zhipu: ["cogview-4-250304", "glm-image"],
};

/** The meaning of a model name can depend on the kind of upstream. */
const embeddingModel = (id: string, upstreamKind: string): CatalogModel => {
  const dimensions = knownEmbedding(id, upstreamKind)?.dimensions;
  return { id, kind: "embedding", ...(dimensions && { dimensions }) };
};

export const catalogModels: Readonly<Record<string, readonly CatalogModel[]>> = Object.fromEntries(
  Object.keys({ ...embeddings, ...images }).map((kind) => [
    kind,
    [
      ...(embeddings[kind] ?? []).map((id) => embeddingModel(id, kind)),
      ...(images[kind] ?? []).map((id): CatalogModel => ({ id, kind: "image" })),
    ],
  ]),
);

const imageNames =
  /(^|[-_/.])(dall-e|gpt-image|imagen|flux|stable-(diffusion|image)|sdxl|sd3|[a-z-]*image|kolors|cogview|seedream|ideogram|recraft)/i;

/**
 * Guesses the kind of a model in an upstream's list, from the catalog and from its name. Undefined if neither the
 * catalog nor the name tells. Most models of large vendors are language models.
 */
export function guessModelKind(model: string, upstreamKind: string): ModelKind | undefined {
  const only = kinds.get(upstreamKind)?.serves;
  if (only === "image") return only;
  const listed = catalogModels[upstreamKind]?.find(({ id }) => id === model)?.kind;
  if (listed !== undefined) return listed;
  if (knownEmbedding(model, upstreamKind) || /embed|(^|[-_/])(bge|e5|gte)-/i.test(model)) {
    return "embedding";
  }
  return only === undefined && imageNames.test(model) ? "image" : undefined;
}
