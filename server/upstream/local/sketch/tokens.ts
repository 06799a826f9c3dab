/** Usage by fixed rules, so that the same call always counts the same. */
import type { ImageUsage } from "../../contract.ts";
import type { Quality, Size } from "./options.ts";

/** One token for each run of letters or digits and one for each other visible sign. */
export const textTokens = (text: string): number =>
  text.match(/[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu)?.length ?? 0;

/** One token for each begun tile of 32 × 32 pixels. */
export const tiles = ({ width, height }: Size): number =>
  Math.ceil(width / 32) * Math.ceil(height / 32);

const weight: Record<Quality, number> = { low: 0.25, medium: 1, high: 4, xhigh: 6, max: 8 };
const perPartial = 100;

/** Tiles times the weight of the quality, for every frame; a partial image is 100 more. */
export const outputTokens = (
  size: Size,
  quality: Quality,
  frames: number,
  partials: number,
): number => Math.ceil(tiles(size) * weight[quality]) * frames + partials * perPartial;

export function usageOf(text: number, imagesIn: number, imagesOut: number): ImageUsage {
  return {
    total_tokens: text + imagesIn + imagesOut,
    input_tokens: text + imagesIn,
    output_tokens: imagesOut,
    input_tokens_details: { text_tokens: text, image_tokens: imagesIn },
    output_tokens_details: { text_tokens: 0, image_tokens: imagesOut },
  };
}
