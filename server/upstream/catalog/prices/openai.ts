/** Image prices of OpenAI and Azure. */
import { type ListedPrice, litellm, litellmNow, perToken, undated } from "./listed-price.ts";

const both = ["openai", "azure"] as const;
const model = (name: string): RegExp => new RegExp(`^${name}$`, "i");

/** These models report only image tokens, so all output has the price of images. */
const imagesOnly = (textIn: number, imageIn: number, out: number) =>
  perToken(textIn, imageIn, out, out);

export const openai: readonly ListedPrice[] = [
  {
    kinds: both,
    model: model("gpt-image-1"),
    price: imagesOnly(5, 10, 40),
    source: `developers.openai.com/api/docs/models/gpt-image-1, ${undated}; ${litellm}`,
  },
  {
    kinds: both,
    model: model("gpt-image-1-mini"),
    price: imagesOnly(2, 2.5, 8),
    source: litellm,
  },
  {
    kinds: both,
    model: model("gpt-image-1\\.5(-2025-12-16)?"),
    price: perToken(5, 8, 10, 32),
    source: litellmNow,
  },
  {
    kinds: ["openai"],
    model: model("chatgpt-image-latest"),
    price: perToken(5, 8, 10, 32),
    source: litellmNow,
  },
  {
    kinds: both,
    model: model("gpt-image-2(-2026-04-21)?"),
    price: perToken(5, 8, 10, 30),
    source: litellm,
  },
  {
    kinds: both,
    model: model("gpt-image-2\\.5-(sunburst|flare)(-2026-09-08)?"),
    price: perToken(5, 8, 10, 30),
    source: `${litellmNow}; docs.laozhang.ai/en/api-capabilities/gpt-image-2-5, 2026-09-09`,
  },
  // The same prices of text input and image output. Those of image input and text output are not documented.
  {
    kinds: ["openai"],
    model: model("gpt-image-2\\.6-sunburst"),
    price: perToken(5, undefined, undefined, 30),
    source: `vercel.com/ai-gateway/models/gpt-image-2.6-sunburst, ${undated}`,
  },
  {
    kinds: both,
    model: model("dall-e-3"),
    price: {
      images: {
        "hd 1024x1024": 0.08,
        "hd 1792x1024": 0.12,
        "hd 1024x1792": 0.12,
        hd: 0.08,
        "1024x1024": 0.04,
        "1792x1024": 0.08,
        "1024x1792": 0.08,
        // Without a size and a quality, the defaults apply: standard and 1024x1024.
        "": 0.04,
      },
    },
    source: "Portkey-AI/models, pricing/openai.json and azure-openai.json, 2026-08-21",
  },
  {
    kinds: ["openai"],
    model: model("dall-e-2"),
    price: { images: { "256x256": 0.016, "512x512": 0.018, "1024x1024": 0.02, "": 0.02 } },
    source: "Portkey-AI/models, pricing/openai.json, 2026-08-21",
  },
];
