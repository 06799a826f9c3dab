/**
 * Environment variables that provision an upstream by themselves. A test checks docs/upstreams.md against this table.
 */

import type { ModelKind } from "../../../contract/model-kinds.ts";
export interface Provider {
  /** The kind and the id of the upstream, and the prefix of its model ids that an earlier provider also serves. */
  readonly kind: string;
  /** The first variable that is set is used. */
  readonly apiKey?: readonly string[];
  readonly baseUrl?: string;
  /** For options of the kind: the variable that sets each option. */
  readonly options?: Readonly<Record<string, string>>;
  /** Variables with other common uses: alone they provision nothing. */
  readonly shared?: readonly string[];
  /** Variables with comma-separated lists of deployments. */
  readonly deployments?: Readonly<Record<ModelKind, string>>;
}

/** In order of precedence: if two serve a model of the same name, the first keeps the plain id. */
export const providers: readonly Provider[] = [
  { kind: "openai", apiKey: ["OPENAI_API_KEY"], baseUrl: "OPENAI_BASE_URL" },
  {
    kind: "azure",
    apiKey: ["AZURE_OPENAI_API_KEY"],
    baseUrl: "AZURE_OPENAI_ENDPOINT",
    options: { apiVersion: "AZURE_OPENAI_API_VERSION" },
    deployments: {
      embedding: "AZURE_OPENAI_EMBEDDING_DEPLOYMENT",
      image: "AZURE_OPENAI_IMAGE_DEPLOYMENT",
    },
  },
  {
    kind: "gemini",
    apiKey: ["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"],
  },
  {
    kind: "bedrock",
    apiKey: ["AWS_BEARER_TOKEN_BEDROCK"],
    options: { region: "AWS_REGION" },
    shared: ["AWS_REGION"],
  },
  { kind: "mistral", apiKey: ["MISTRAL_API_KEY"] },
  { kind: "cohere", apiKey: ["COHERE_API_KEY", "CO_API_KEY"] },
  { kind: "voyage", apiKey: ["VOYAGE_API_KEY"] },
  { kind: "together", apiKey: ["TOGETHER_API_KEY"] },
  { kind: "fireworks", apiKey: ["FIREWORKS_API_KEY"] },
  { kind: "deepinfra", apiKey: ["DEEPINFRA_API_KEY"] },
  { kind: "nebius", apiKey: ["NEBIUS_API_KEY"] },
  { kind: "siliconflow", apiKey: ["SILICONFLOW_API_KEY"] },
  { kind: "openrouter", apiKey: ["OPENROUTER_API_KEY"] },
  { kind: "jina", apiKey: ["JINA_API_KEY"] },
  { kind: "nomic", apiKey: ["NOMIC_API_KEY"] },
  { kind: "perplexity", apiKey: ["PERPLEXITY_API_KEY"] },
  {
    kind: "cloudflare",
    apiKey: ["CLOUDFLARE_API_TOKEN"],
    options: { accountId: "CLOUDFLARE_ACCOUNT_ID" },
    shared: ["CLOUDFLARE_ACCOUNT_ID"],
  },
  { kind: "upstage", apiKey: ["UPSTAGE_API_KEY"] },
  { kind: "mixedbread", apiKey: ["MXBAI_API_KEY"] },
  { kind: "nvidia", apiKey: ["NVIDIA_API_KEY"] },
  {
    kind: "dashscope",
    apiKey: ["DASHSCOPE_API_KEY"],
    baseUrl: "DASHSCOPE_HTTP_BASE_URL",
  },
  {
    kind: "watsonx",
    apiKey: ["WATSONX_APIKEY", "WATSONX_API_KEY"],
    baseUrl: "WATSONX_URL",
    options: { projectId: "WATSONX_PROJECT_ID", spaceId: "WATSONX_SPACE_ID" },
  },
  {
    kind: "databricks",
    apiKey: ["DATABRICKS_TOKEN"],
    baseUrl: "DATABRICKS_HOST",
    shared: ["DATABRICKS_HOST"],
  },
  { kind: "volcengine", apiKey: ["ARK_API_KEY"] },
  { kind: "zhipu", apiKey: ["ZHIPUAI_API_KEY", "ZAI_API_KEY"] },
  { kind: "qianfan", apiKey: ["QIANFAN_API_KEY"] },
  { kind: "ovhcloud", apiKey: ["OVH_AI_ENDPOINTS_ACCESS_TOKEN"] },
  { kind: "novita", apiKey: ["NOVITA_API_KEY"] },
  { kind: "venice", apiKey: ["VENICE_API_KEY"] },
  { kind: "digitalocean", apiKey: ["GRADIENT_MODEL_ACCESS_KEY"] },
  { kind: "vercel", apiKey: ["AI_GATEWAY_API_KEY"] },
  { kind: "cometapi", apiKey: ["COMETAPI_KEY"] },
  { kind: "aihubmix", apiKey: ["AIHUBMIX_API_KEY"] },
  {
    kind: "gigachat",
    apiKey: ["GIGACHAT_CREDENTIALS"],
    options: { scope: "GIGACHAT_SCOPE" },
    shared: ["GIGACHAT_SCOPE"],
  },
  { kind: "twelvelabs", apiKey: ["TWELVE_LABS_API_KEY"] },
  { kind: "bfl", apiKey: ["BFL_API_KEY"] },
  { kind: "stability", apiKey: ["STABILITY_API_KEY"] },
  { kind: "fal", apiKey: ["FAL_KEY", "FAL_API_KEY"] },
  { kind: "replicate", apiKey: ["REPLICATE_API_TOKEN"] },
  { kind: "luma", apiKey: ["LUMA_API_KEY", "LUMAAI_API_KEY"] },
  { kind: "luma-agents", apiKey: ["LUMA_AGENTS_API_KEY"] },
  { kind: "runware", apiKey: ["RUNWARE_API_KEY"] },
  { kind: "runway", apiKey: ["RUNWAYML_API_SECRET"] },
  { kind: "recraft", apiKey: ["RECRAFT_API_TOKEN", "RECRAFT_API_KEY"] },
  { kind: "ideogram", apiKey: ["IDEOGRAM_API_KEY"] },
  { kind: "wavespeed", apiKey: ["WAVESPEED_API_KEY"] },
  { kind: "xai", apiKey: ["XAI_API_KEY"] },
  { kind: "minimax", apiKey: ["MINIMAX_API_KEY"] },
  { kind: "ollama", baseUrl: "OLLAMA_HOST" },
];

/** All environment variables of a provider. */
export const variablesOf = (provider: Provider): readonly string[] => [
  ...(provider.apiKey ?? []),
  ...(provider.baseUrl ? [provider.baseUrl] : []),
  ...Object.values(provider.options ?? {}),
  ...Object.values(provider.deployments ?? {}),
];
