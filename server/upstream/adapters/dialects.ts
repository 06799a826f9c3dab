/** Vendors that speak OpenAI's language with an accent. A compatible vendor costs one line. */

export interface Dialect {
  readonly name: string;
  /** Absent: the configuration must say. */
  readonly baseUrl?: string;
  /** Known to answer `encoding_format: "base64"`. Others are never sent the field: some refuse it. */
  readonly base64?: boolean;
  /** Works without a key. */
  readonly open?: boolean;
}

export const dialects: readonly Dialect[] = [
  { name: "openai", baseUrl: "https://api.openai.com/v1", base64: true },
  { name: "openai-compatible", open: true },
  { name: "vexel", base64: true },
  { name: "vllm", base64: true, open: true },
  { name: "ollama", baseUrl: "http://127.0.0.1:11434/v1", open: true },
  { name: "gemini", baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai" },
  { name: "mistral", baseUrl: "https://api.mistral.ai/v1" },
  { name: "together", baseUrl: "https://api.together.xyz/v1" },
  { name: "fireworks", baseUrl: "https://api.fireworks.ai/inference/v1" },
  { name: "deepinfra", baseUrl: "https://api.deepinfra.com/v1/openai" },
  { name: "nebius", baseUrl: "https://api.tokenfactory.nebius.com/v1" },
  { name: "siliconflow", baseUrl: "https://api.siliconflow.com/v1" },
  { name: "openrouter", baseUrl: "https://openrouter.ai/api/v1" },
  { name: "jina", baseUrl: "https://api.jina.ai/v1" },
];
