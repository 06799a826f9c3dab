/** Token usage by fixed rules: the same request always counts the same. */
import type { Quality, Size } from "./options.ts";
import type { Usage } from "./request.ts";

/** One token for each run of letters or digits, and one for each other visible character. */
export const textTokens = (text: string): number =>
  text.match(/[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu)?.length ?? 0;

/** One token for each tile of 32 × 32 pixels, incomplete tiles included. */
export const imageTokens = ({ width, height }: Size): number =>
  Math.ceil(width / 32) * Math.ceil(height / 32);

const qualityWeight: Record<Quality, number> = { low: 0.25, medium: 1, high: 4, xhigh: 6, max: 8 };
const tokensPerPartial = 100;

/** Tiles times the weight of the quality, for every frame; each partial image adds 100. */
export function outputTokens(
  size: Size,
  quality: Quality,
  frames: number,
  partials: number,
): number {
  const perFrame = Math.ceil(imageTokens(size) * qualityWeight[quality]);
  return perFrame * frames + partials * tokensPerPartial;
}

export function usageOf(text: number, imagesIn: number, imagesOut: number): Usage {
  return {
    total_tokens: text + imagesIn + imagesOut,
    input_tokens: text + imagesIn,
    output_tokens: imagesOut,
    input_tokens_details: { text_tokens: text, image_tokens: imagesIn },
    output_tokens_details: { text_tokens: 0, image_tokens: imagesOut },
  };
}
