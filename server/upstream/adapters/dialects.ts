/** OpenAI-compatible vendors with small differences: one row each, with the source of its facts above it. */
import type { TaskTypeTable } from "../task-type.ts";
import {
  type Dialect,
  fullLengthCapabilities,
  openaiCapabilities,
  openServerCapabilities,
  textOnlyCapabilities,
} from "./openai/dialect.ts";
import { infinityImages, nvidiaImages, vexelImages, vllmImages } from "./openai/image-dialects.ts";
import { contentEntries } from "./wire/image-parts.ts";
import { cohereTaskTypes } from "./wire/native-embeddings.ts";

const { dimensions: _, ...ada } = openaiCapabilities;

/**
 * Most of NVIDIA's models require a task type. The default is a document: most vectors are indexed, and clients that
 * query send a task type.
 */
const nvidiaTaskTypes: TaskTypeTable = {
  field: "input_type",
  values: { query: "query", document: "passage" },
  defaultValue: "passage",
};

const herokuTaskTypes: TaskTypeTable = {
  field: "input_type",
  values: cohereTaskTypes,
};

/** Self-hosted servers. */
const servers: readonly Dialect[] = [
  { name: "openai-compatible", open: true },
  // The other gateway knows whether its model makes the type and reads images, and refuses them otherwise.
  {
    name: "vexel",
    embeddings: {
      ...openServerCapabilities,
      base64: true,
      outputTypes: { field: "output_dtype", types: ["int8", "uint8", "ubinary"] },
      images: vexelImages,
    },
    writeImages: (input) => ({ input: contentEntries(input) }),
  },
  // vllm, entrypoints/openai/protocol.py: EmbeddingCompletionRequest.
  {
    name: "vllm",
    open: true,
    embeddings: { ...openServerCapabilities, base64: true },
    ...vllmImages,
  },
  // llama.cpp, tools/server/server-context.cpp: handle_embeddings_impl ignores `dimensions` and task types. Without
  // /v1, /embeddings is another API, whose response has no `data`.
  {
    name: "llamacpp",
    open: true,
    serves: "embedding",
    basePath: "/v1",
    embeddings: {
      ...fullLengthCapabilities,
      base64: true,
      dimensions: "own",
      taskTypes: "indifferent",
      normalized: true,
    },
  },
  // lmstudio.ai/docs/app/api/endpoints/openai: "'input' field must be a string or an array of strings".
  {
    name: "lmstudio",
    baseUrl: "http://127.0.0.1:1234/v1",
    open: true,
    serves: "embedding",
    embeddings: textOnlyCapabilities,
  },
  // infinity_emb 0.0.78, fastapi_schemas/pymodels.py. Its paths have no /v1 by default, and it has no task types. engine.py:
  // "Auto resolve if only one engine is present", whatever the name of the model. inference/batch_handler.py: `usage` is
  // the lengths of the texts. `dimensions` cuts normalized vectors, and does not normalize them again.
  {
    name: "infinity",
    baseUrl: "http://127.0.0.1:7997",
    open: true,
    serves: "embedding",
    embeddings: {
      ...openServerCapabilities,
      base64: true,
      tokens: false,
      taskTypes: "indifferent",
    },
    listsEveryModel: true,
    cutsAnyModel: true,
    truncatesSilently: true,
    servesAnyName: true,
    countsCharacters: true,
    ...infinityImages,
  },
  { name: "litellm", open: true },
];

/** Model vendors. Facts are from their own documentation. */
const vendors: readonly Dialect[] = [
  // docs.tokenfactory.nebius.com/api-reference/inference/create-embeddings.
  {
    name: "nebius",
    baseUrl: "https://api.tokenfactory.nebius.com/v1",
    embeddings: { ...openServerCapabilities, base64: true },
  },
  // console.upstage.ai/api/embeddings; older clients (langchain-upstage 0.7.7) have /v1/solar. 100 texts, 204,800
  // tokens together. The model's name includes the task type.
  {
    name: "upstage",
    baseUrl: "https://api.upstage.ai/v1",
    serves: "embedding",
    embeddings: { ...textOnlyCapabilities, maxItems: 100, maxTokens: 204_800 },
  },
  // mixedbread.com/docs/api: `prompt` is passed through. 256: its provider for the AI SDK. mixedbread 0.54.0,
  // EncodingFormat: quantized vectors, as lists of integers.
  {
    name: "mixedbread",
    baseUrl: "https://api.mixedbread.com/v1",
    serves: "embedding",
    embeddings: {
      ...textOnlyCapabilities,
      maxItems: 256,
      dimensions: "any",
      normalized: true,
      outputTypes: { field: "encoding_format", types: ["int8", "uint8", "ubinary"] },
    },
  },
  // docs.nvidia.com/nim/nemo-retriever/text-embedding: reference. 50: langchain-nvidia-ai-endpoints, max_batch_size.
  {
    name: "nvidia",
    baseUrl: "https://integrate.api.nvidia.com/v1",
    serves: "embedding",
    embeddings: { ...textOnlyCapabilities, maxItems: 50, base64: true, taskTypes: nvidiaTaskTypes },
    ...nvidiaImages,
    models: [
      ...nvidiaImages.models,
      // The model's name includes the task type.
      [/-(query|passage)$/, { taskTypes: "indifferent" }],
      [/^baai\//, { taskTypes: "indifferent" }],
      [/embed(qa)?-1b|nemotron/, { dimensions: "any" }],
    ],
  },
  // 16: langgenius/dify-official-plugins, models/wenxin.
  {
    name: "qianfan",
    baseUrl: "https://qianfan.baidubce.com/v2",
    embeddings: { ...textOnlyCapabilities, maxItems: 16 },
    models: [[/tao-8k/, { maxItems: 1 }]],
  },
  // OVHcloud's guide to AI Endpoints: a body of 2 MB at most; half of it may be quotes and escapes.
  {
    name: "ovhcloud",
    baseUrl: "https://oai.endpoints.kepler.ai.cloud.ovh.net/v1",
    serves: "embedding",
    embeddings: { ...openServerCapabilities, maxBytes: 1_000_000, base64: true },
  },
  // docs.sambanova.ai/cloud/api-reference/endpoints/embeddings-api. Unproven: its price page of 2026-08-20 lists no
  // embedding model (mnfst/awesome-free-llm-apis#102), so none is provisioned from the environment.
  {
    name: "sambanova",
    baseUrl: "https://api.sambanova.ai/v1",
    serves: "embedding",
    embeddings: textOnlyCapabilities,
  },
  // scaleway/docs-content, using-embeddings-api.mdx: no encoding_format, and dimensions for one model only.
  {
    name: "scaleway",
    baseUrl: "https://api.scaleway.ai/v1",
    serves: "embedding",
    embeddings: textOnlyCapabilities,
    models: [[/qwen3-embedding/, { dimensions: "any" }]],
  },
  // docs.nscale.com/api-reference/inferencing.
  { name: "nscale", baseUrl: "https://inference.api.nscale.com/v1" },
  // A deployment's own address, up to /sync/v1. 128: @ai-sdk/baseten.
  {
    name: "baseten",
    serves: "embedding",
    embeddings: { ...openServerCapabilities, maxItems: 128 },
  },
  // devcenter.heroku.com/articles/heroku-inference-api-v1-embeddings: 96 strings. Its other encoding is called `raw`.
  {
    name: "heroku",
    baseUrl: "https://us.inference.heroku.com/v1",
    embeddings: { ...textOnlyCapabilities, maxItems: 96, taskTypes: herokuTaskTypes },
  },
  // novita.ai/docs/api-reference/model-apis-llm-create-embeddings, read on 2026-11-16. Older clients have /v3/openai.
  {
    name: "novita",
    baseUrl: "https://api.novita.ai/openai/v1",
    serves: "embedding",
    embeddings: { ...fullLengthCapabilities, base64: true },
  },
];

/** Other gateways: the supported parameters depend on the model behind them. */
const gateways: readonly Dialect[] = [
  // vercel.com/docs/ai-gateway/openai-compat/embeddings: texts; `dimensions` is translated for each vendor.
  {
    name: "vercel",
    baseUrl: "https://ai-gateway.vercel.sh/v1",
    serves: "embedding",
    embeddings: { ...openServerCapabilities, tokens: false },
  },
  { name: "cometapi", baseUrl: "https://api.cometapi.com/v1" },
  { name: "aihubmix", baseUrl: "https://aihubmix.com/v1" },
];

export const dialects: readonly Dialect[] = [
  // developers.openai.com/api/reference: embeddings. All but ada-002 can shorten their vectors.
  {
    name: "openai",
    baseUrl: "https://api.openai.com/v1",
    embeddings: ada,
    models: [[/^(?!.*ada-002)/, { dimensions: "any" }]],
  },
  ...servers,
  ...vendors,
  ...gateways,
];
