/** End dates of image models. */
import type { EndRow } from "./end-date.ts";

/** `deprecation_date` there. */
const litellm = "BerriAI/litellm 1.108.4, model_prices_and_context_window.json, read on 2026-11-15";

export const imageEnds: readonly EndRow[] = [
  {
    kind: "openai",
    models: [
      "gpt-image-1.5",
      "gpt-image-1.5-2025-12-16",
      "gpt-image-1-mini",
      "chatgpt-image-latest",
    ],
    on: "2026-12-01",
    source: litellm,
  },
  { kind: "openai", models: ["gpt-image-1"], on: "2026-10-23", source: litellm },
  {
    kind: "bedrock",
    models: ["amazon.nova-canvas-v1:0"],
    on: "2026-09-30",
    source: litellm,
  },
];
