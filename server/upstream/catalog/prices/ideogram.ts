/** Ideogram's list prices: by rendering speed, which clients choose with `quality`. */
import type { Price } from "../../price.ts";
import { type ListedPrice, undated } from "./listed-price.ts";

const ideogram = (name: string, price: Price, more: Partial<ListedPrice> = {}): ListedPrice => ({
  kinds: ["ideogram"],
  model: new RegExp(`^${name}$`),
  price,
  // Its own quality field, and character references.
  unless: ["rendering_speed", "character_reference_images"],
  source: `ideogram.ai/features/api-pricing, ${undated}`,
  ...more,
});

/** Turbo, default and quality, under OpenAI's names. */
const speeds = (turbo: number, standard: number, quality?: number): Price => ({
  images: {
    low: turbo,
    medium: standard,
    ...(quality !== undefined && { high: quality }),
    "": standard,
  },
});

export const ideogramPrices: readonly ListedPrice[] = [
  // These rates are for remixing and editing as well.
  ideogram("(ideogram-4|ideogram-v4)", speeds(0.03, 0.06, 0.1)),
  ideogram("(ideogram-3|ideogram-v3)", speeds(0.03, 0.06, 0.09)),
  ideogram("ideogram-3-transparent", speeds(0.04, 0.07, 0.1)),
  ideogram("V_2", { images: { "": 0.08 } }),
  ideogram("V_2_TURBO", { images: { "": 0.05 } }),
  ideogram("V_2A", { images: { "": 0.04 } }),
  ideogram("V_2A_TURBO", { images: { "": 0.025 } }),
  ideogram("V_1", { images: { "": 0.06 } }),
  ideogram("V_1_TURBO", { images: { "": 0.02 } }),
];
