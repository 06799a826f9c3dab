/** Where the prices of embedding models were read, and when, by kind of upstream. */

interface PriceSource {
  readonly source: string;
  /** The day of the list. */
  readonly on: string;
}

const litellm: PriceSource = {
  source: "BerriAI/litellm 1.108.4, model_prices_and_context_window.json",
  on: "2026-11-15",
};
const litellmNow: PriceSource = {
  source: "litellm 1.109.1, model_prices_and_context_window.json",
  on: "2026-11-17",
};
const catsu: PriceSource = { source: "chonkie-inc/catsu, models.json", on: "2026-02-20" };

export const priceSources: Readonly<Record<string, PriceSource>> = {
  openai: litellm,
  azure: litellm,
  "azure-ai": litellm,
  gemini: litellm,
  vertex: litellmNow,
  bedrock: litellm,
  cohere: litellm,
  voyage: litellm,
  mistral: litellm,
  perplexity: litellm,
  fireworks: litellm,
  nebius: litellm,
  databricks: litellm,
  together: litellm,
  novita: litellm,
  scaleway: litellm,
  oci: litellm,
  snowflake: litellm,
  vercel: litellmNow,
  venice: { source: "docs.venice.ai/models, the page of each model", on: "2026-11-18" },
  dashscope: {
    source: "alibabacloud.com/help/en/model-studio/multimodal-embedding-api-reference, Singapore",
    on: "2026-02-05",
  },
  deepinfra: catsu,
  cloudflare: catsu,
  jina: catsu,
  openrouter: {
    source:
      "openrouter.ai, the page of each model; that of Embed 5 on 2026-11-16, of gemini-embedding-2 on 2026-11-18",
    on: "2026-08-08",
  },
};
