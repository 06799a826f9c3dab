/** Variables that provision an upstream by themselves. docs/upstreams.md follows from this table. */

export interface Provider {
  /** Of the upstream, and before the slash where two providers serve a model of one name. */
  readonly id: string;
  /** The adapter. */
  readonly kind: string;
  /** The first that is set is used. */
  readonly apiKey?: readonly string[];
  readonly baseUrl?: string;
  /** Options of the kind, by the variable that sets each. */
  readonly options?: Readonly<Record<string, string>>;
  /** Variables listing, comma-separated, the deployments there are. */
  readonly deployments?: Readonly<Record<"embedding" | "image", string>>;
}

/** In order of precedence: where two serve a model of one name, the upper keeps the plain id. */
export const providers: readonly Provider[] = [
  { id: "openai", kind: "openai", apiKey: ["OPENAI_API_KEY"], baseUrl: "OPENAI_BASE_URL" },
  {
    id: "azure",
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
    id: "gemini",
    kind: "gemini",
    apiKey: ["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"],
  },
  { id: "mistral", kind: "mistral", apiKey: ["MISTRAL_API_KEY"] },
  { id: "together", kind: "together", apiKey: ["TOGETHER_API_KEY"] },
  { id: "fireworks", kind: "fireworks", apiKey: ["FIREWORKS_API_KEY"] },
  { id: "deepinfra", kind: "deepinfra", apiKey: ["DEEPINFRA_API_KEY"] },
  { id: "nebius", kind: "nebius", apiKey: ["NEBIUS_API_KEY"] },
  { id: "siliconflow", kind: "siliconflow", apiKey: ["SILICONFLOW_API_KEY"] },
  { id: "openrouter", kind: "openrouter", apiKey: ["OPENROUTER_API_KEY"] },
  { id: "jina", kind: "jina", apiKey: ["JINA_API_KEY"] },
  { id: "ollama", kind: "ollama", baseUrl: "OLLAMA_HOST" },
];

/** Every variable that is looked at for a provider. */
export const variablesOf = (provider: Provider): readonly string[] => [
  ...(provider.apiKey ?? []),
  ...(provider.baseUrl ? [provider.baseUrl] : []),
  ...Object.values(provider.options ?? {}),
  ...Object.values(provider.deployments ?? {}),
];
