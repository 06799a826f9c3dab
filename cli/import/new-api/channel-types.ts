/** Types of channels in new-api that serve embeddings or images, as kinds of Vexel. */

interface ChannelType {
  readonly name: string;
  readonly kind: string;
  /** The path that new-api adds to `base_url`, if Vexel's base URL contains it. */
  readonly path?: string;
}

/** From `constant/channel.go` of new-api. A type that is absent serves neither, or has no kind. */
export const channelTypes: Readonly<Record<number, ChannelType>> = {
  1: { name: "OpenAI", kind: "openai", path: "/v1" },
  3: { name: "Azure", kind: "azure" },
  4: { name: "Ollama", kind: "ollama" },
  8: { name: "Custom", kind: "openai-compatible" },
  17: { name: "Ali", kind: "dashscope", path: "/api/v1" },
  20: { name: "OpenRouter", kind: "openrouter", path: "/v1" },
  24: { name: "Gemini", kind: "gemini", path: "/v1beta" },
  26: { name: "Zhipu v4", kind: "zhipu", path: "/api/paas/v4" },
  27: { name: "Perplexity", kind: "perplexity", path: "/v1" },
  33: { name: "AWS", kind: "bedrock" },
  34: { name: "Cohere", kind: "cohere" },
  35: { name: "MiniMax", kind: "minimax", path: "/v1" },
  38: { name: "Jina", kind: "jina", path: "/v1" },
  39: { name: "Cloudflare", kind: "cloudflare", path: "/client/v4" },
  40: { name: "SiliconFlow", kind: "siliconflow", path: "/v1" },
  41: { name: "Vertex AI", kind: "vertex" },
  42: { name: "Mistral", kind: "mistral", path: "/v1" },
  45: { name: "VolcEngine", kind: "volcengine", path: "/api/v3" },
  46: { name: "Baidu v2", kind: "qianfan", path: "/v2" },
  47: { name: "Xinference", kind: "xinference", path: "/v1" },
  48: { name: "xAI", kind: "xai", path: "/v1" },
  56: { name: "Replicate", kind: "replicate", path: "/v1" },
  60: { name: "New API", kind: "openai-compatible", path: "/v1" },
};
