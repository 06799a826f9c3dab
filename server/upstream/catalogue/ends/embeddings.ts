/** End dates of embedding models. */
import type { EndRow } from "./end-date.ts";

/** `deprecation_date` there. */
const litellm = "BerriAI/litellm 1.108.4, model_prices_and_context_window.json, read on 2026-11-15";

export const embeddingEnds: readonly EndRow[] = [
  {
    kind: "azure",
    models: ["text-embedding-3-small", "text-embedding-3-large", "text-embedding-ada-002"],
    on: "2028-02-09",
    source: litellm,
  },
  {
    kind: "azure-ai",
    models: ["cohere-embed-v5-pro", "cohere-embed-v5-fast"],
    on: "2027-01-23",
    source: litellm,
  },
  {
    kind: "bedrock",
    models: ["twelvelabs.marengo-embed-2-7-v1:0"],
    on: "2026-11-30",
    source: litellm,
  },
  {
    kind: "upstage",
    models: [
      "solar-embedding-1-large-query",
      "solar-embedding-1-large-passage",
      "embedding-query",
      "embedding-passage",
    ],
    on: "2026-12-31",
    source: "console.upstage.ai/docs/capabilities/embed, read on 2026-11-16",
  },
  { kind: "gemini", models: ["gemini-embedding-001"], on: "2028-05-14", source: litellm },
  { kind: "vertex", models: ["gemini-embedding-001"], on: "2028-05-20", source: litellm },
  {
    kind: "vertex",
    models: [
      "text-embedding-004",
      "text-embedding-005",
      "text-multilingual-embedding-002",
      "multimodalembedding@001",
    ],
    on: "2027-04-01",
    source: litellm,
  },
];
