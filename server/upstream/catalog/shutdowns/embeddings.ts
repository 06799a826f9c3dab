/** Shutdown dates of embedding models. */
import { type ShutdownRow, shutdownRow } from "./shutdown-date.ts";

/** Source: the field `deprecation_date` of this file. */
const litellm = "BerriAI/litellm 1.108.4, model_prices_and_context_window.json, read on 2026-11-15";
const litellmNow = "litellm 1.109.1, model_prices_and_context_window.json, read on 2026-11-17";

export const embeddingShutdowns: readonly ShutdownRow[] = [
  shutdownRow("azure", "2028-02-09", litellm, [
    "text-embedding-3-small",
    "text-embedding-3-large",
    "text-embedding-ada-002",
  ]),
  shutdownRow("azure-ai", "2027-01-23", litellm, ["cohere-embed-v5-pro", "cohere-embed-v5-fast"]),
  shutdownRow("azure-ai", "2027-02-15", litellmNow, [
    "cohere-embed-v3-english",
    "cohere-embed-v3-multilingual",
  ]),
  shutdownRow("azure-ai", "2027-06-01", litellmNow, ["embed-v-4-0"]),
  shutdownRow("bedrock", "2026-11-30", litellm, ["twelvelabs.marengo-embed-2-7-v1:0"]),
  shutdownRow(
    "upstage",
    "2026-12-31",
    "console.upstage.ai/docs/capabilities/embed, read on 2026-11-16",
    [
      "solar-embedding-1-large-query",
      "solar-embedding-1-large-passage",
      "embedding-query",
      "embedding-passage",
    ],
  ),
  shutdownRow(
    "cohere",
    "2026-04-04",
    "docs.cohere.com/changelog/2026-04-04-embed-v2-aya-8b-retirement, read on 2026-11-16",
    ["embed-english-v2.0", "embed-english-light-v2.0", "embed-multilingual-v2.0"],
  ),
  shutdownRow("gemini", "2026-01-14", "ai.google.dev/docs/changelog, read on 2026-11-16", [
    "text-embedding-004",
  ]),
  shutdownRow(
    "gemini",
    "2025-10-30",
    "Google's announcement in drupal.org/i/3550425, read on 2026-11-16",
    ["embedding-001", "gemini-embedding-exp", "gemini-embedding-exp-03-07"],
  ),
  shutdownRow("gemini", "2028-05-14", litellm, ["gemini-embedding-001"]),
  shutdownRow("vertex", "2028-05-20", litellm, ["gemini-embedding-001"]),
  shutdownRow("vertex", "2027-04-01", litellm, [
    "text-embedding-004",
    "text-embedding-005",
    "text-multilingual-embedding-002",
    "multimodalembedding@001",
  ]),
];
