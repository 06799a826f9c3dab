/** Image prices of Google, on the Gemini API and on Vertex AI. */
import {
  type ListedPrice,
  litellm,
  litellmNow,
  perImage,
  perToken,
  puter,
} from "./listed-price.ts";

const both = ["gemini", "vertex"] as const;
/** Searches and other service tiers change the price. */
const unless = ["tools", "serviceTier", "cachedContent"] as const;
/** On Vertex a model name may include its publisher. */
const model = (name: string): RegExp => new RegExp(`(^|/)${name}$`);

export const google: readonly ListedPrice[] = [
  {
    kinds: both,
    model: model("gemini-2\\.5-flash-image(-preview)?"),
    price: perToken(0.3, 0.3, 2.5, 30),
    unless,
    source: `${litellm}, after ai.google.dev/gemini-api/docs/pricing`,
  },
  {
    kinds: both,
    model: model("(gemini-3-pro-image(-preview)?|nano-banana-pro-preview)"),
    price: perToken(2, 2, 12, 120),
    unless,
    source: `${litellm}, after ai.google.dev/gemini-api/docs/pricing; ${puter}`,
  },
  {
    kinds: both,
    model: model("gemini-3\\.1-flash-image(-preview)?"),
    price: perToken(0.5, 0.5, 3, 60),
    unless,
    source: `${litellmNow}; ${litellm}, after cloud.google.com/vertex-ai/generative-ai/pricing`,
  },
  {
    kinds: both,
    model: model("gemini-3\\.1-flash-lite-image"),
    price: perToken(0.25, 0.25, 1.5, 30),
    unless,
    source: `${puter}; Portkey-AI/models, pricing/vertex-ai.json, 2026-08-21`,
  },
  {
    kinds: both,
    model: model("gemini-nano-banana-2\\.1"),
    price: perToken(1.5, 1.5, 7.5, 30),
    unless,
    source: litellmNow,
  },
  {
    kinds: both,
    model: model("imagen-4\\.0-fast-generate-(001|preview-[\\d-]+)"),
    price: perImage(0.02),
    source: litellm,
  },
  {
    kinds: both,
    model: model("imagen-4\\.0-generate-(001|preview-[\\d-]+)"),
    price: perImage(0.04),
    source: litellm,
  },
  {
    kinds: both,
    model: model("imagen-4\\.0-ultra-generate-(001|preview-[\\d-]+)"),
    price: perImage(0.06),
    source: litellm,
  },
  {
    kinds: both,
    model: model("imagen-3\\.0-(generate-00[12]|capability-001)"),
    price: perImage(0.04),
    source: litellm,
  },
  {
    kinds: both,
    model: model("(imagen-3\\.0-fast-generate-001|imagegeneration@006)"),
    price: perImage(0.02),
    source: litellm,
  },
];
