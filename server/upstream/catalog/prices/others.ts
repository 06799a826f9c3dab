/**
 * Prices of vendors with few listed models. Vendors that report the cost of a request are not listed (OpenRouter,
 * Recraft, Runware and Runway), nor vendors whose price lists are not in dollars (Volcengine in China, Zhipu, and
 * Alibaba in Beijing). xAI reports its cost as well: its prices are for estimates before the request.
 */
import { type ListedPrice, litellm, litellmNow, perImage, puter, undated } from "./listed-price.ts";

/** Singapore, the default region. */
const international = /^https:\/\/dashscope-intl\./;
/** Volcengine outside China. */
const byteplus = /\bbytepluses\.com\b/;

/** Workers AI charges for tiles of 512 by 512 pixels, and for steps. */
const tiles = (each: number, step = 0, steps = 0) => ({
  images: { "1024x1024": 4 * each + step * steps },
});

export const others: readonly ListedPrice[] = [
  {
    kinds: ["xai"],
    model: /^grok-imagine-image(-2026-03-02)?$/,
    price: perImage(0.02),
    source: litellmNow,
  },
  {
    kinds: ["xai"],
    model: /^grok-imagine-image-(pro|quality(-20260403|-latest)?)$/,
    price: perImage(0.05),
    source: litellmNow,
  },
  {
    kinds: ["xai"],
    model: /^grok-imagine-image-2\.0$/,
    price: { images: { low: 0.04, medium: 0.06, "": 0.06 } },
    source: litellmNow,
  },
  {
    kinds: ["dashscope"],
    model: /^wanx?2\.1-t2i-turbo$/,
    price: perImage(0.025),
    at: international,
    source: "alibabacloud.com/help/en/model-studio/text-to-image-v2-api-reference, 2025-07-15",
  },
  {
    kinds: ["dashscope"],
    model: /^wanx?2\.1-t2i-plus$/,
    price: perImage(0.05),
    at: international,
    source: "alibabacloud.com/help/en/model-studio/text-to-image-v2-api-reference, 2025-07-15",
  },
  // The list has no price for qwen-image-3.0-pro.
  ...(
    [
      [/^qwen-image-2\.0$/, 0.035],
      [/^qwen-image-2\.0-pro$/, 0.075],
      [/^qwen-image-3\.0$/, 0.03],
    ] as const
  ).map(
    ([model, dollars]): ListedPrice => ({
      kinds: ["dashscope"],
      model,
      price: perImage(dollars),
      at: international,
      source:
        "litellm 1.109.1, after alibabacloud.com/help/en/model-studio/model-pricing, 2026-11-17",
    }),
  ),
  ...(
    [
      [/^seedream-image-v5\.0-flash$/, 0.018],
      [/^seedream-image-v5\.0-lite$/, 0.035],
      [/^seedream-image-v5\.0-pro$/, 0.09],
    ] as const
  ).map(
    ([model, dollars]): ListedPrice => ({
      kinds: ["tencent"],
      model,
      price: perImage(dollars),
      source: "litellm 1.109.1, after tencentcloud.com/document/product/1300/78937, 2026-11-17",
    }),
  ),
  {
    kinds: ["volcengine"],
    model: /^seedream-5-0(-lite)?(-260128)?$/,
    price: perImage(0.035),
    at: byteplus,
    source: `${puter}, after docs.byteplus.com/en/docs/ModelArk/1544106`,
  },
  {
    kinds: ["volcengine"],
    model: /^seedream-4-5(-251128)?$/,
    price: perImage(0.04),
    at: byteplus,
    source: `${puter}, after docs.byteplus.com/en/docs/ModelArk/1544106`,
  },
  {
    kinds: ["volcengine"],
    model: /^seedream-4-0(-250828)?$/,
    price: perImage(0.03),
    at: byteplus,
    source: `${puter}, after docs.byteplus.com/en/docs/ModelArk/1544106`,
  },
  {
    kinds: ["cloudflare"],
    model: /^@cf\/black-forest-labs\/flux-1-schnell$/,
    price: tiles(0.0000528, 0.0001056, 4),
    unless: ["steps", "num_steps"],
    source: puter,
  },
  {
    kinds: ["cloudflare"],
    model: /^@cf\/black-forest-labs\/flux-2-klein-4b$/,
    price: tiles(0.000287),
    edits: "unknown",
    source: puter,
  },
  {
    kinds: ["cloudflare"],
    model: /^@cf\/black-forest-labs\/flux-2-klein-9b$/,
    // The first megapixel. The price of further megapixels is not documented.
    price: { images: { "<=1000x1000": 0.015 } },
    edits: "unknown",
    source: puter,
  },
  {
    kinds: ["deepinfra"],
    model: /^black-forest-labs\/FLUX-pro$/,
    price: perImage(0.05),
    source: `deepinfra.com/black-forest-labs/FLUX-pro/api, ${undated}`,
  },
  {
    kinds: ["nscale"],
    model: /^black-forest-labs\/FLUX\.1-schnell$/,
    price: { megapixel: 0.0013 },
    source: litellm,
  },
  {
    kinds: ["nscale"],
    model: /^stabilityai\/stable-diffusion-xl-base-1\.0$/,
    price: { megapixel: 0.003 },
    source: litellm,
  },
];
