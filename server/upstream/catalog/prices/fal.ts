/** List prices of fal. */
import type { Price } from "../../price.ts";
import { type ListedPrice, litellm, litellmNow, perImage, undated } from "./listed-price.ts";

/** The price of edits is unknown: separate editing endpoints have their prices on other pages. */
const fal = (
  name: string,
  price: ListedPrice["price"],
  more: Partial<ListedPrice> = {},
): ListedPrice => ({
  kinds: ["fal"],
  model: new RegExp(`^fal-ai/${name}$`),
  price,
  edits: "unknown",
  source: litellm,
  ...more,
});

/**
 * "Images are billed by rounding up to the nearest megapixel." Whether that is a million pixels or 1024 times 1024 is
 * not documented, so only sizes are listed for which both are the same.
 */
const roundedUp = (dollars: number) => ({
  images: { "<=1024x1024": dollars, "<=2000x1000": 2 * dollars },
});

/** By resolution: 1K (the default), 2K and 4K. The bounds are those of upstream/image-sizes.ts. */
const byClass = (one: number, two: number, four: number): Price => ({
  images: { "": one, "<=1448x1448": one, "<=2896x2896": two, "<=6000x6000": four },
});

/** A `resolution` field of the request may differ from the size. */
const sized = { unless: ["resolution"] } as const;

const tierSizes = [
  "1024x768",
  "1024x1024",
  "1024x1536",
  "1920x1080",
  "2560x1440",
  "3840x2160",
] as const;

/** OpenAI's models, by quality and size. Without a quality, fal chooses it, so the price is not known. */
const byTier = (tiers: Readonly<Record<string, readonly number[]>>): Price => ({
  images: Object.fromEntries(
    Object.entries(tiers).flatMap(([quality, prices]) =>
      prices.map((price, at) => [`${quality} ${tierSizes[at]}`, price]),
    ),
  ),
});

export const falPrices: readonly ListedPrice[] = [
  fal("flux(-1)?/dev", roundedUp(0.025), {
    source: `fal.ai/models/fal-ai/flux-1/dev/playground, ${undated}`,
  }),
  fal("flux(-1)?/schnell", roundedUp(0.003)),
  fal("flux-pro/v1\\.1", { images: { "<=1024x1024": 0.04 } }),
  fal("flux-pro/v1\\.1-ultra", perImage(0.06)),
  fal("nano-banana", perImage(0.039)),
  fal("nano-banana-2", byClass(0.08, 0.12, 0.16), { source: litellmNow, ...sized }),
  fal("nano-banana-pro", byClass(0.15, 0.15, 0.3), { source: litellmNow, ...sized }),
  fal("gemini-25-flash-image", perImage(0.039)),
  fal("bytedance/seedream/v3/text-to-image", perImage(0.03)),
  fal("bytedance/dreamina/v3\\.1/text-to-image", perImage(0.03)),
  // At the default rendering speed.
  fal("ideogram/v3", perImage(0.06), { unless: ["rendering_speed"] }),
  fal("imagen4/preview", perImage(0.0398), { source: litellmNow }),
  fal("imagen4/preview/fast", perImage(0.02)),
  fal("imagen4/preview/ultra", perImage(0.06)),
  fal("recraft/v3/text-to-image", perImage(0.0398), { source: litellmNow }),
  fal("stable-diffusion-v35-medium", perImage(0.0398), { source: litellmNow }),
  {
    kinds: ["fal"],
    model: /^bria\/text-to-image\/3\.2$/,
    price: perImage(0.0398),
    edits: "unknown",
    source: litellmNow,
  },
  {
    kinds: ["fal"],
    model: /^openai\/gpt-image-2(\/edit)?$/,
    price: byTier({
      low: [0.005, 0.006, 0.005, 0.005, 0.007, 0.012],
      medium: [0.037, 0.053, 0.042, 0.04, 0.056, 0.101],
      high: [0.145, 0.211, 0.165, 0.158, 0.222, 0.401],
    }),
    edits: byTier({
      low: [0.011, 0.015, 0.018, 0.017, 0.019, 0.024],
      medium: [0.043, 0.061, 0.054, 0.053, 0.068, 0.113],
      high: [0.151, 0.219, 0.178, 0.158, 0.234, 0.413],
    }),
    source: litellmNow,
  },
  {
    kinds: ["fal"],
    model: /^openai\/gpt-image-2\.5\/(flare|sunburst)\/(text-to-image|edit)$/,
    price: byTier({
      low: [0.00402, 0.00588, 0.00474, 0.00441, 0.00615, 0.01113],
      medium: [0.00903, 0.01317, 0.01029, 0.01029, 0.01434, 0.02595],
      high: [0.03612, 0.05268, 0.04116, 0.0396, 0.05529, 0.10008],
      xhigh: [0.0642, 0.09366, 0.07377, 0.07041, 0.09828, 0.1779],
      max: [0.14445, 0.21072, 0.16464, 0.1584, 0.2211, 0.40026],
    }),
    source: litellmNow,
  },
];
