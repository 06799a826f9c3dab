/** Shutdown dates of image models. */
import type { ShutdownRow } from "./shutdown-date.ts";

/** Source: the field `deprecation_date` of this file. */
const litellm = "BerriAI/litellm 1.108.4, model_prices_and_context_window.json, read on 2026-11-15";
const openaiSdk = "openai-python 3.49.0, types/image_model.py, read on 2026-11-15";

const gptImage15 = ["gpt-image-1.5", "gpt-image-1.5-2025-12-16"];

export const imageShutdowns: readonly ShutdownRow[] = [
  { kind: "openai", models: ["dall-e-2", "dall-e-3"], on: "2026-05-12", source: openaiSdk },
  { kind: "openai", models: ["gpt-image-1"], on: "2026-10-23", source: openaiSdk },
  {
    kind: "openai",
    models: [...gptImage15, "gpt-image-1-mini", "chatgpt-image-latest"],
    on: "2026-12-01",
    source: litellm,
  },
  // An Azure deployment may have any name. These rows apply if it is named like its model.
  { kind: "azure", models: ["gpt-image-1"], on: "2026-10-23", source: litellm },
  { kind: "azure", models: gptImage15, on: "2026-12-16", source: litellm },
  { kind: "azure", models: ["gpt-image-1-mini"], on: "2027-04-07", source: litellm },
  {
    kind: "azure",
    models: ["gpt-image-2", "gpt-image-2-2026-04-21"],
    on: "2027-10-21",
    source: litellm,
  },
  {
    kind: "azure",
    models: ["gpt-image-2.5-sunburst", "gpt-image-2.5-flare"],
    on: "2027-09-09",
    source: litellm,
  },
  // OpenRouter forwards these to OpenAI, so they end on the same day.
  { kind: "openrouter", models: ["openai/gpt-image-1"], on: "2026-10-23", source: openaiSdk },
  {
    kind: "openrouter",
    models: ["openai/gpt-image-1.5", "openai/gpt-image-1-mini"],
    on: "2026-12-01",
    source: litellm,
  },
  {
    kind: "gemini",
    models: ["gemini-3-pro-image-preview", "gemini-3.1-flash-image-preview"],
    on: "2026-06-25",
    source: "ai.google.dev/gemini-api/docs/changelog, 2026-05-28",
  },
  {
    kind: "gemini",
    models: ["gemini-3.1-flash-image"],
    on: "2026-10-29",
    source:
      "github.com/BerriAI/litellm/discussions/44983 and skills.sh/jpcaparas/skills/nanobanana, 2026-10-18",
  },
  { kind: "gemini", models: ["gemini-2.5-flash-image"], on: "2027-03-15", source: litellm },
  { kind: "vertex", models: ["gemini-2.5-flash-image"], on: "2027-03-15", source: litellm },
  {
    kind: "vertex",
    models: ["gemini-3-pro-image", "gemini-3.1-flash-image"],
    on: "2027-05-28",
    source: litellm,
  },
  {
    kind: "bedrock",
    models: ["amazon.titan-image-generator-v2:0", "amazon.titan-image-generator-v2"],
    on: "2026-06-30",
    source: litellm,
  },
  { kind: "bedrock", models: ["amazon.nova-canvas-v1:0"], on: "2026-09-30", source: litellm },
  {
    kind: "xai",
    models: [
      "grok-imagine-image-quality",
      "grok-imagine-image-quality-20260403",
      "grok-imagine-image-quality-latest",
    ],
    on: "2026-11-02",
    source: litellm,
  },
];
