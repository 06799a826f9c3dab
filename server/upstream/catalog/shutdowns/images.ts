/** Shutdown dates of image models. */
import { type ShutdownRow, shutdownRow } from "./shutdown-date.ts";

/** Source: the field `deprecation_date` of this file. */
const litellm = "BerriAI/litellm 1.108.4, model_prices_and_context_window.json, read on 2026-11-15";
const litellmNow = "litellm 1.109.1, model_prices_and_context_window.json, read on 2026-11-17";
const openaiSdk = "openai-python 3.49.0, types/image_model.py, read on 2026-11-15";

const gptImage15 = ["gpt-image-1.5", "gpt-image-1.5-2025-12-16"];

export const imageShutdowns: readonly ShutdownRow[] = [
  shutdownRow("openai", "2026-05-12", openaiSdk, ["dall-e-2", "dall-e-3"]),
  shutdownRow("openai", "2026-10-23", openaiSdk, ["gpt-image-1"]),
  shutdownRow("openai", "2026-12-01", litellm, [
    ...gptImage15,
    "gpt-image-1-mini",
    "chatgpt-image-latest",
  ]),
  // An Azure deployment may have any name. These rows apply if it is named like its model.
  shutdownRow("azure", "2026-10-23", litellm, ["gpt-image-1"]),
  shutdownRow("azure", "2026-12-16", litellm, gptImage15),
  shutdownRow("azure", "2027-04-07", litellm, ["gpt-image-1-mini"]),
  shutdownRow("azure", "2027-10-21", litellm, ["gpt-image-2", "gpt-image-2-2026-04-21"]),
  shutdownRow("azure", "2027-09-09", litellm, ["gpt-image-2.5-sunburst", "gpt-image-2.5-flare"]),
  shutdownRow("azure-ai", "2026-10-01", litellmNow, [
    "mai-image-2.5",
    "mai-image-2.5-flash",
    "mai-image-2.5-pro",
  ]),
  shutdownRow("azure-ai", "2027-10-21", litellmNow, ["gpt-image-2"]),
  shutdownRow("azure-ai", "2027-01-05", litellmNow, ["flux-1.1-pro", "flux.1-kontext-pro"]),
  shutdownRow("azure-ai", "2027-01-20", litellmNow, ["flux.2-pro", "flux.2-flex"]),
  // OpenRouter forwards these to OpenAI, so they end on the same day.
  shutdownRow("openrouter", "2026-10-23", openaiSdk, ["openai/gpt-image-1"]),
  shutdownRow("openrouter", "2026-12-01", litellm, [
    "openai/gpt-image-1.5",
    "openai/gpt-image-1-mini",
  ]),
  shutdownRow("gemini", "2026-06-25", "ai.google.dev/gemini-api/docs/changelog, 2026-05-28", [
    "gemini-3-pro-image-preview",
    "gemini-3.1-flash-image-preview",
  ]),
  shutdownRow(
    "gemini",
    "2026-10-29",
    "github.com/BerriAI/litellm/discussions/44983 and skills.sh/jpcaparas/skills/nanobanana, 2026-10-18",
    ["gemini-3.1-flash-image"],
  ),
  shutdownRow("gemini", "2027-03-15", litellm, ["gemini-2.5-flash-image"]),
  shutdownRow("vertex", "2027-03-15", litellm, ["gemini-2.5-flash-image"]),
  shutdownRow("vertex", "2027-05-28", litellm, ["gemini-3-pro-image", "gemini-3.1-flash-image"]),
  shutdownRow("bedrock", "2026-06-30", litellm, [
    "amazon.titan-image-generator-v2:0",
    "amazon.titan-image-generator-v2",
  ]),
  shutdownRow("bedrock", "2026-09-30", litellm, ["amazon.nova-canvas-v1:0"]),
  shutdownRow("xai", "2026-05-15", litellmNow, ["grok-imagine-image-pro"]),
  shutdownRow("xai", "2026-11-02", litellm, [
    "grok-imagine-image-quality",
    "grok-imagine-image-quality-20260403",
    "grok-imagine-image-quality-latest",
  ]),
];
