/**
 * Known models: the models that each kind of upstream is known to serve, so that a provider's API key alone is enough
 * to use it. Only verified rows: a missing model can be named in vexel.yaml, a wrong one fails at the client. Facts
 * that do not depend on the upstream, such as dimensions, are in server/upstream/catalog/.
 */

import { knownEmbedding } from "../upstream/catalog/index.ts";
import { kinds } from "../upstream/kinds.ts";

export interface CatalogModel {
  readonly id: string;
  readonly kind: "embedding" | "image";
  readonly dimensions?: number;
  /** Absent: 10, as in OpenAI's API. */
  readonly maxImages?: number;
}

const embedding = (id: string): CatalogModel => ({ id, kind: "embedding" });
const image = (id: string): CatalogModel => ({ id, kind: "image" });

// openai-python 3.49.0, 2026-11-15 (ImageModel, EmbeddingModel). dall-e-2, dall-e-3 and gpt-image-1 are shut down.
const openaiEmbeddings = [
  embedding("text-embedding-3-small"),
  embedding("text-embedding-3-large"),
  embedding("text-embedding-ada-002"),
];

const rows: Readonly<Record<string, readonly CatalogModel[]>> = {
  openai: [
    ...openaiEmbeddings,
    image("gpt-image-1-mini"),
    image("gpt-image-1.5"),
    image("gpt-image-2"),
    image("gpt-image-2.5-sunburst"),
    image("gpt-image-2.5-flare"),
    image("gpt-image-2.6-sunburst"),
    image("gpt-image-2.6-flare"),
    image("chatgpt-image-latest"),
  ],
  // MicrosoftDocs/azure-ai-docs, foundry/openai/how-to/dall-e.md. Used as deployment names if none are given.
  azure: [
    ...openaiEmbeddings,
    image("gpt-image-1-mini"),
    image("gpt-image-1.5"),
    image("gpt-image-2"),
    // litellm 1.108.4, 2026-11-15.
    image("gpt-image-2.5-sunburst"),
    image("gpt-image-2.5-flare"),
  ],
  // ai.google.dev/gemini-api/docs/models.
  gemini: [embedding("gemini-embedding-001"), embedding("gemini-embedding-2")],
  // docs.mistral.ai/capabilities/embeddings/text_embeddings; codestral-embed:
  // vercel.com/ai-gateway/models/codestral-embed.
  mistral: [embedding("mistral-embed"), embedding("codestral-embed")],
  // docs.cohere.com/docs/cohere-embed; Embed 5: docs.cohere.com/changelog/embed-v5, 2026-09-30.
  cohere: [
    embedding("embed-v5.0-pro"),
    embedding("embed-v5.0-fast"),
    embedding("embed-v4.0"),
    embedding("embed-english-v3.0"),
    embedding("embed-multilingual-v3.0"),
    embedding("embed-english-light-v3.0"),
    embedding("embed-multilingual-light-v3.0"),
  ],
  // mongodb.com/docs/voyageai/models, read on 2026-11-16.
  voyage: [
    embedding("voyage-4-large"),
    embedding("voyage-4"),
    embedding("voyage-4-lite"),
    embedding("voyage-code-4"),
    embedding("voyage-code-3"),
    embedding("voyage-context-4"),
    embedding("voyage-multimodal-3.5"),
    embedding("voyage-finance-2"),
    embedding("voyage-law-2"),
  ],
  // docs.aws.amazon.com/bedrock/latest/userguide/models-supported.html: models that need no inference profile.
  bedrock: [
    embedding("amazon.titan-embed-text-v2:0"),
    embedding("cohere.embed-english-v3"),
    embedding("cohere.embed-multilingual-v3"),
  ],
  // docs.nomic.ai/atlas/models/text-embedding.
  nomic: [embedding("nomic-embed-text-v1.5"), embedding("nomic-embed-text-v1")],
  // docs.perplexity.ai/docs/embeddings, read on 2026-11-16.
  perplexity: [
    embedding("pplx-embed-v1-0.6b"),
    embedding("pplx-embed-v1-4b"),
    embedding("pplx-embed-context-v1-0.6b"),
    embedding("pplx-embed-context-v1-4b"),
  ],
  // developers.cloudflare.com/workers-ai/models.
  cloudflare: [
    embedding("@cf/baai/bge-m3"),
    embedding("@cf/baai/bge-small-en-v1.5"),
    embedding("@cf/baai/bge-base-en-v1.5"),
    embedding("@cf/baai/bge-large-en-v1.5"),
    embedding("@cf/qwen/qwen3-embedding-0.6b"),
    embedding("@cf/google/embeddinggemma-300m"),
  ],
  // docs.agno.com/reference/knowledge/embedder/together: the only embedding model left on the serverless list.
  together: [embedding("intfloat/multilingual-e5-large-instruct")],
  // docs.fireworks.ai/guides/querying-embeddings-models: the only one that needs no dedicated deployment.
  fireworks: [embedding("fireworks/qwen3-embedding-8b")],
  // deepinfra.com/BAAI/bge-m3/api, /Qwen/Qwen3-Embedding-0.6B/api.
  deepinfra: [embedding("BAAI/bge-m3"), embedding("Qwen/Qwen3-Embedding-0.6B")],
  // developers.llamaindex.ai/python/examples/embeddings/nebius, docs.langchain.com integrations/providers/nebius.
  nebius: [embedding("BAAI/bge-en-icl")],
  // milvus.io/docs/v2.6.x/siliconflow.md, oceanbase.ai/docs/siliconflow-py.
  siliconflow: [embedding("BAAI/bge-m3"), embedding("Qwen/Qwen3-Embedding-8B")],
  // openrouter.ai/<model>/api, each read.
  openrouter: [
    embedding("openai/text-embedding-3-small"),
    embedding("openai/text-embedding-3-large"),
    embedding("google/gemini-embedding-001"),
    embedding("qwen/qwen3-embedding-4b"),
    embedding("qwen/qwen3-embedding-0.6b"),
    // Available at OpenRouter since 2026-11-03.
    embedding("cohere/embed-5-pro"),
    embedding("cohere/embed-5-fast"),
  ],
  // jina.ai/models/<id>, qdrant.tech/documentation/embeddings/jina-embeddings.
  jina: [
    embedding("jina-embeddings-v5-text-small"),
    embedding("jina-embeddings-v5-text-nano"),
    embedding("jina-embeddings-v4"),
    embedding("jina-embeddings-v3"),
  ],
  // console.upstage.ai/docs/capabilities/embed. Solar Embedding 1 and the aliases that point to it end with 2026.
  upstage: [embedding("solar-embedding-2-query"), embedding("solar-embedding-2-passage")],
  // mixedbread.com/docs/models/embedding.
  mixedbread: [
    embedding("mixedbread-ai/mxbai-embed-large-v1"),
    embedding("mixedbread-ai/deepset-mxbai-embed-de-large-v1"),
  ],
  // docs.api.nvidia.com/nim/reference/retrieval-apis.
  nvidia: [embedding("nvidia/nv-embedqa-e5-v5"), embedding("baai/bge-m3")],
  // alibabacloud.com/help/en/model-studio/text-embedding-synchronous-api.
  dashscope: [
    embedding("qwen3.7-text-embedding"),
    embedding("text-embedding-v4"),
    embedding("text-embedding-v3"),
  ],
  // ibm.com/docs/en/watsonx/saas?topic=models-supported-encoder-foundation.
  watsonx: [
    embedding("ibm/granite-embedding-278m-multilingual"),
    embedding("ibm/slate-125m-english-rtrvr-v2"),
    embedding("intfloat/multilingual-e5-large"),
  ],
  // docs.databricks.com/aws/en/machine-learning/foundation-model-apis/supported-models: preconfigured endpoints.
  databricks: [
    embedding("databricks-gte-large-en"),
    embedding("databricks-bge-large-en"),
    embedding("databricks-qwen3-embedding-0-6b"),
  ],
  // BerriAI/litellm, model_prices_and_context_window.json, for the next five.
  volcengine: [
    embedding("doubao-embedding-large-text-250515"),
    embedding("doubao-embedding-text-240715"),
    // GizClaw/flowcraft#7.
    embedding("doubao-embedding-vision-251215"),
  ],
  novita: [
    embedding("baai/bge-m3"),
    embedding("qwen/qwen3-embedding-8b"),
    embedding("qwen/qwen3-embedding-0.6b"),
  ],
  vercel: [
    embedding("openai/text-embedding-3-small"),
    embedding("openai/text-embedding-3-large"),
    embedding("google/gemini-embedding-001"),
  ],
  cometapi: [embedding("text-embedding-3-small"), embedding("text-embedding-3-large")],
  aihubmix: [embedding("text-embedding-3-small"), embedding("text-embedding-3-large")],
  // docs.bigmodel.cn/api-reference.
  zhipu: [embedding("embedding-3"), embedding("embedding-2")],
  // langgenius/dify-official-plugins, models/wenxin.
  qianfan: [embedding("embedding-v1"), embedding("bge-large-zh"), embedding("bge-large-en")],
  // endpoints.ai.cloud.ovh.net/catalog.
  ovhcloud: [embedding("BGE-M3"), embedding("bge-multilingual-gemma2")],
  // docs.venice.ai/api-reference/endpoint/embeddings/generate.
  venice: [embedding("text-embedding-bge-m3")],
  // digitalocean/openapi, resources/inference.
  digitalocean: [embedding("qwen3-embedding-0.6b")],
  // ollama.com/search?c=embedding. Each works once it is pulled.
  ollama: [
    embedding("nomic-embed-text"),
    embedding("mxbai-embed-large"),
    embedding("embeddinggemma"),
    embedding("all-minilm"),
  ],
};

/**
 * Image models known to be served by each kind of upstream besides OpenAI and Azure. Only a few verified rows: the
 * adapter names the source of each, and any other model of the vendor can be named in vexel.yaml. A model that its
 * vendor shuts down stays until its shutdown date: catalog/shutdowns/images.ts.
 */
const imageProviders: Readonly<Record<string, readonly string[]>> = {
  gemini: ["gemini-nano-banana-2.1", "gemini-2.5-flash-image"],
  bedrock: ["stability.sd3-5-large-v1:0", "stability.stable-image-core-v1:1"],
  bfl: ["flux-2-pro", "flux-pro-1.1", "flux-kontext-pro"],
  stability: ["stable-image-core", "stable-image-ultra", "sd3.5-large"],
  fal: ["fal-ai/flux/dev", "fal-ai/flux-2-pro", "fal-ai/nano-banana", "fal-ai/nano-banana-2"],
  replicate: ["black-forest-labs/flux-schnell", "black-forest-labs/flux-2-pro"],
  luma: ["photon-1"],
  "luma-agents": ["uni-1"],
  runware: ["runware:101@1"],
  recraft: ["recraftv3", "recraftv4_1"],
  ideogram: ["ideogram-4-5", "ideogram-3"],
  xai: ["grok-imagine-image", "grok-imagine-image-2.0"],
  minimax: ["image-01"],
  together: ["black-forest-labs/FLUX.2-pro", "black-forest-labs/FLUX.1-schnell"],
  fireworks: [
    "accounts/fireworks/models/flux-1-schnell-fp8",
    "accounts/fireworks/models/flux-kontext-pro",
  ],
  deepinfra: ["black-forest-labs/FLUX-1-schnell"],
  siliconflow: ["Kwai-Kolors/Kolors", "Qwen/Qwen-Image"],
  openrouter: ["openai/gpt-image-1.5", "google/gemini-2.5-flash-image"],
  cloudflare: ["@cf/black-forest-labs/flux-1-schnell", "@cf/black-forest-labs/flux-2-dev"],
  // qwen-image-3.0: litellm 1.108.4, 2026-11-15.
  dashscope: ["qwen-image-plus", "qwen-image-2.0-pro", "qwen-image-3.0", "wan2.7-image"],
  volcengine: ["doubao-seedream-4-0-250828"],
  zhipu: ["cogview-4-250304", "glm-image"],
};

/** The meaning of a model name can depend on the kind of upstream. */
const withDimensions = (row: CatalogModel, kind: string): CatalogModel => {
  const dimensions = row.kind === "embedding" && knownEmbedding(row.id, kind)?.dimensions;
  return dimensions ? { ...row, dimensions } : row;
};

export const catalogModels: Readonly<Record<string, readonly CatalogModel[]>> = Object.fromEntries(
  [...new Set([...Object.keys(rows), ...Object.keys(imageProviders)])].map((kind) => [
    kind,
    [
      ...(rows[kind] ?? []).map((row) => withDimensions(row, kind)),
      ...(imageProviders[kind] ?? []).map((id) => image(id)),
    ],
  ]),
);

const imageNames =
  /(^|[-_/.])(dall-e|gpt-image|imagen|flux|stable-(diffusion|image)|sdxl|sd3|[a-z-]*image|kolors|cogview|seedream|ideogram|recraft)/i;

/**
 * Guesses the kind of a model in an upstream's list, from the catalog and from its name. Undefined: neither the catalog
 * nor the name tells. Most models of large vendors are language models.
 */
export function guessModelKind(
  model: string,
  upstreamKind: string,
): "embedding" | "image" | undefined {
  const only = kinds.get(upstreamKind)?.serves;
  if (only === "image") return only;
  const listed = catalogModels[upstreamKind]?.find(({ id }) => id === model)?.kind;
  if (listed !== undefined) return listed;
  if (knownEmbedding(model, upstreamKind) || /embed|(^|[-_/])(bge|e5|gte)-/i.test(model)) {
    return "embedding";
  }
  return only === undefined && imageNames.test(model) ? "image" : undefined;
}
