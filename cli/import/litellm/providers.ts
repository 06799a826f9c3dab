/** LiteLLM's providers that serve embeddings or images, as kinds of Vexel. */

interface Provider {
  readonly kind: string;
  /** The variable that LiteLLM reads if an entry has no `api_key`. */
  readonly variable?: string;
  /** The base URL, if the kind has none. */
  readonly baseUrl?: string;
}

/** From `get_llm_provider` and `main.py` of LiteLLM 1.106. */
export const providers: Readonly<Record<string, Provider>> = {
  azure: { kind: "azure", variable: "AZURE_API_KEY" },
  azure_ai: { kind: "azure-ai", variable: "AZURE_AI_API_KEY" },
  bedrock: { kind: "bedrock" },
  black_forest_labs: { kind: "bfl", variable: "BFL_API_KEY" },
  cohere: { kind: "cohere", variable: "COHERE_API_KEY" },
  cohere_chat: { kind: "cohere", variable: "COHERE_API_KEY" },
  cometapi: { kind: "cometapi", variable: "COMETAPI_KEY" },
  custom_openai: { kind: "openai-compatible", variable: "OPENAI_API_KEY" },
  dashscope: { kind: "dashscope", variable: "DASHSCOPE_API_KEY" },
  databricks: { kind: "databricks", variable: "DATABRICKS_API_KEY" },
  deepinfra: { kind: "deepinfra", variable: "DEEPINFRA_API_KEY" },
  fal_ai: { kind: "fal", variable: "FAL_AI_API_KEY" },
  fireworks_ai: { kind: "fireworks", variable: "FIREWORKS_AI_API_KEY" },
  gemini: { kind: "gemini", variable: "GEMINI_API_KEY" },
  gigachat: { kind: "gigachat", variable: "GIGACHAT_CREDENTIALS" },
  hosted_vllm: { kind: "vllm", variable: "HOSTED_VLLM_API_KEY" },
  huggingface: { kind: "huggingface", variable: "HUGGINGFACE_API_KEY" },
  infinity: { kind: "infinity" },
  jina_ai: { kind: "jina", variable: "JINA_AI_API_KEY" },
  litellm_proxy: { kind: "litellm", variable: "LITELLM_PROXY_API_KEY" },
  llamafile: { kind: "llamacpp" },
  lm_studio: { kind: "lmstudio" },
  meta: { kind: "openai-compatible", baseUrl: "https://api.meta.ai/v1" },
  minimax: { kind: "minimax", variable: "MINIMAX_API_KEY" },
  mistral: { kind: "mistral", variable: "MISTRAL_API_KEY" },
  nebius: { kind: "nebius", variable: "NEBIUS_API_KEY" },
  novita: { kind: "novita", variable: "NOVITA_API_KEY" },
  nscale: { kind: "nscale", variable: "NSCALE_API_KEY" },
  nvidia_nim: { kind: "nvidia", variable: "NVIDIA_NIM_API_KEY" },
  oci: { kind: "oci" },
  ollama: { kind: "ollama" },
  openai: { kind: "openai", variable: "OPENAI_API_KEY" },
  openai_like: { kind: "openai-compatible" },
  openrouter: { kind: "openrouter", variable: "OPENROUTER_API_KEY" },
  ovhcloud: { kind: "ovhcloud", variable: "OVHCLOUD_API_KEY" },
  perplexity: { kind: "perplexity", variable: "PERPLEXITYAI_API_KEY" },
  qwen_ai_platform: { kind: "dashscope", variable: "DASHSCOPE_API_KEY" },
  qwencloud: { kind: "dashscope", variable: "DASHSCOPE_API_KEY" },
  recraft: { kind: "recraft", variable: "RECRAFT_API_KEY" },
  replicate: { kind: "replicate", variable: "REPLICATE_API_KEY" },
  runwayml: { kind: "runway", variable: "RUNWAYML_API_KEY" },
  sagemaker: { kind: "sagemaker" },
  sambanova: { kind: "sambanova", variable: "SAMBANOVA_API_KEY" },
  scaleway: { kind: "scaleway", variable: "SCW_SECRET_KEY" },
  snowflake: { kind: "snowflake", variable: "SNOWFLAKE_JWT" },
  stability: { kind: "stability", variable: "STABILITY_API_KEY" },
  together_ai: { kind: "together", variable: "TOGETHERAI_API_KEY" },
  triton: { kind: "triton" },
  vercel_ai_gateway: { kind: "vercel", variable: "VERCEL_AI_GATEWAY_API_KEY" },
  vertex_ai: { kind: "vertex" },
  volcengine: { kind: "volcengine", variable: "VOLCENGINE_API_KEY" },
  voyage: { kind: "voyage", variable: "VOYAGE_API_KEY" },
  watsonx: { kind: "watsonx", variable: "WATSONX_APIKEY" },
  xai: { kind: "xai", variable: "XAI_API_KEY" },
  xinference: { kind: "xinference", variable: "XINFERENCE_API_KEY" },
};

/** Names that LiteLLM knows as OpenAI's without a prefix. */
const openaiNames = /^(text-embedding-|dall-e|gpt-image|chatgpt-image)/;

/** The provider and the model's name there. Undefined if LiteLLM's own table of models would be needed. */
export function splitModel(
  model: string,
  givenProvider: unknown,
): { readonly provider: string; readonly name: string } | undefined {
  const [prefix = "", ...rest] = model.split("/");
  if (rest.length > 0 && Object.hasOwn(providers, prefix))
    return { provider: prefix, name: rest.join("/") };
  if (typeof givenProvider === "string" && givenProvider !== "")
    return { provider: givenProvider, name: model };
  if (openaiNames.test(model)) return { provider: "openai", name: model };
  return rest.length > 0 ? { provider: prefix, name: rest.join("/") } : undefined;
}
