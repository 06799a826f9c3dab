/** Shutdown dates of embedding models. */
import type { ShutdownRow } from "./shutdown-date.ts";

/** Source: the field `deprecation_date` of this file. */
const litellm = "BerriAI/litellm 1.108.4, model_prices_and_context_window.json, read on 2026-11-15";

export const embeddingShutdowns: readonly ShutdownRow[] = [
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
  {
    kind: "cohere",
    models: ["embed-english-v2.0", "embed-english-light-v2.0", "embed-multilingual-v2.0"],
    on: "2026-04-04",
    source: "docs.cohere.com/changelog/2026-04-04-embed-v2-aya-8b-retirement, read on 2026-11-16",
  },
  {
    kind: "gemini",
    models: ["text-embedding-004"],
    on: "2026-01-14",
    source: "ai.google.dev/docs/changelog, read on 2026-11-16",
  },
  {
    kind: "gemini",
    models: ["embedding-001", "gemini-embedding-exp", "gemini-embedding-exp-03-07"],
    on: "2025-10-30",
    source: "Google's announcement in drupal.org/i/3550425, read on 2026-11-16",
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
