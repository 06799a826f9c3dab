/** The registry of vendors and adapters, by the name that a configuration uses. */
import type { Adapter, Vendor } from "../adapter.ts";
import { bedrock } from "./amazon/bedrock.ts";
import { sagemaker } from "./amazon/sagemaker.ts";
import { automatic1111 } from "./automatic1111.ts";
import { bfl } from "./bfl.ts";
import { cloudflare } from "./cloudflare/cloudflare.ts";
import { cohere } from "./cohere.ts";
import { dashscope } from "./dashscope/dashscope.ts";
import { databricks } from "./databricks.ts";
import { deepinfra } from "./deepinfra.ts";
import { dialects } from "./dialects.ts";
import { digitalocean } from "./digitalocean.ts";
import { fal } from "./fal/fal.ts";
import { fireworks } from "./fireworks.ts";
import { gigachat } from "./gigachat.ts";
import { gemini } from "./google/gemini.ts";
import { vertex } from "./google/vertex.ts";
import { huggingface } from "./huggingface/huggingface.ts";
import { tei } from "./huggingface/tei.ts";
import { ideogram } from "./ideogram/ideogram.ts";
import { jina } from "./jina.ts";
import { localai } from "./localai.ts";
import { lumaAgents } from "./luma/agents.ts";
import { luma } from "./luma/luma.ts";
import { azure } from "./microsoft/azure.ts";
import { azureAi } from "./microsoft/azure-ai.ts";
import { minimax } from "./minimax.ts";
import { mistral } from "./mistral.ts";
import { nomic } from "./nomic.ts";
import { oci } from "./oci/oci.ts";
import { ollama } from "./ollama.ts";
import { fromDialect } from "./openai/dialect.ts";
import { openrouter } from "./openrouter/openrouter.ts";
import { perplexity } from "./perplexity.ts";
import { recraft } from "./recraft.ts";
import { replicate } from "./replicate/replicate.ts";
import { runware } from "./runware/runware.ts";
import { runway } from "./runway/runway.ts";
import { sap } from "./sap.ts";
import { sglang } from "./sglang.ts";
import { siliconflow } from "./siliconflow.ts";
import { snowflake } from "./snowflake.ts";
import { stability } from "./stability/stability.ts";
import { tencent } from "./tencent.ts";
import { together } from "./together.ts";
import { triton } from "./triton.ts";
import { twelvelabs } from "./twelvelabs.ts";
import { venice } from "./venice.ts";
import { volcengine } from "./volcengine/volcengine.ts";
import { voyage } from "./voyage.ts";
import { watsonx } from "./watsonx.ts";
import { wavespeed } from "./wavespeed.ts";
import { xai } from "./xai.ts";
import { xinference } from "./xinference.ts";
import { zhipu } from "./zhipu.ts";

/** OpenAI-compatible embeddings and images. */
const openaiCompatible: readonly Vendor[] = [
  ...dialects.map((dialect) => fromDialect(dialect)),
  azure,
  azureAi,
];

/** OpenAI-compatible embeddings, native image APIs. */
export const openaiEmbeddingsOwnImages: readonly Vendor[] = [
  together,
  fireworks,
  deepinfra,
  siliconflow,
  zhipu,
  volcengine,
  openrouter,
  sglang,
  localai,
  xinference,
  venice,
  digitalocean,
];

/** All vendors with OpenAI-compatible embeddings. */
export const openaiEmbeddingsVendors: readonly Vendor[] = [
  ...openaiCompatible,
  ...openaiEmbeddingsOwnImages,
];

/** Image models only. */
export const imageOnly: readonly Vendor[] = [
  automatic1111,
  bfl,
  fal,
  ideogram,
  luma,
  lumaAgents,
  minimax,
  recraft,
  replicate,
  runware,
  runway,
  stability,
  tencent,
  wavespeed,
  xai,
];

/** Native embeddings APIs. */
export const nativeEmbeddings: readonly Vendor[] = [
  gemini,
  vertex,
  bedrock,
  ollama,
  tei,
  huggingface,
  mistral,
  cohere,
  voyage,
  jina,
  nomic,
  perplexity,
  cloudflare,
  dashscope,
  watsonx,
  snowflake,
  databricks,
  sagemaker,
  oci,
  sap,
  triton,
  gigachat,
  twelvelabs,
];

export const vendors: readonly Vendor[] = [
  ...openaiEmbeddingsVendors,
  ...nativeEmbeddings,
  ...imageOnly,
];

export const adapters: ReadonlyMap<string, Adapter> = new Map(
  vendors.map(({ kind, adapter }) => [kind.name, adapter]),
);
