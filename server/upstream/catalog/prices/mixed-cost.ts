/**
 * The cost of an embeddings request with images: vendors charge for text tokens, and for images by token, by image or
 * by pixel.
 */
import type { EmbeddingsResponse, MixedInput, Target } from "../../contract.ts";
import { estimatedImageTokens, hasImage, isImagePart, pixelsOf } from "../../mixed-input.ts";

type Prices = Pick<Target, "tokenPrice" | "imageInputPrice">;

const million = 1_000_000;

/** The tokens of a request: counted by the upstream, or estimated. */
interface TokenCounts {
  readonly text: number;
  /** Undefined if not known. */
  readonly image: number | undefined;
}

/** By the usage that the upstream reports. Undefined if a price or a count that applies is not known. */
export function mixedCost(
  input: MixedInput,
  usage: EmbeddingsResponse["usage"],
  prices: Prices,
): number | undefined {
  const { tokenPrice, imageInputPrice } = prices;
  if (!imageInputPrice) return undefined;
  const { tokens: imageTokenPrice } = imageInputPrice;
  const perImage = imageCharge(input, prices);
  if (imageTokenPrice === undefined && !hasText(input)) return perImage;
  if (!usage) return undefined;
  const { inputTokens, imageTokens } = usage;
  // All tokens have the same price.
  if (imageTokenPrice !== undefined && imageTokenPrice === tokenPrice)
    return perImage + (inputTokens * tokenPrice) / million;
  if (imageTokenPrice !== undefined && imageTokens === undefined) return undefined;
  const charged = tokenCharge(
    { text: inputTokens - (imageTokens ?? 0), image: imageTokens },
    prices,
  );
  return charged === undefined ? undefined : perImage + charged;
}

/**
 * Undefined if a price that applies is not known. `counts`: the tokens of a text, and of an image with these pixels.
 */
export function estimateMixedCost(
  input: MixedInput,
  prices: Prices,
  counts: {
    readonly ofText: (text: string) => number;
    readonly ofImage?: (pixels: number) => number;
  },
): number | undefined {
  if (!prices.imageInputPrice && input.entries.some(hasImage)) return undefined;
  const { ofText, ofImage } = counts;
  let [text, image] = [0, 0];
  for (const part of input.entries.flatMap(({ parts }) => parts)) {
    if (part.kind === "text") text += ofText(part.text);
    else if (part.kind === "tokens") text += part.tokens.length;
    else image += ofImage ? ofImage(pixelsOf(part)) : estimatedImageTokens(part);
  }
  const charged = tokenCharge({ text, image }, prices);
  return charged === undefined ? undefined : imageCharge(input, prices) + charged;
}

const hasText = ({ entries }: MixedInput): boolean =>
  entries.some(({ parts }) => parts.some(({ kind }) => kind === "text"));

function tokenCharge(counts: TokenCounts, { tokenPrice, imageInputPrice }: Prices) {
  if (counts.text > 0 && tokenPrice === undefined) return undefined;
  const texts = counts.text * (tokenPrice ?? 0);
  return (texts + (counts.image ?? 0) * (imageInputPrice?.tokens ?? 0)) / million;
}

function imageCharge({ entries }: MixedInput, { imageInputPrice }: Prices): number {
  const { image = 0, megapixel = 0 } = imageInputPrice ?? {};
  const images = entries.flatMap(({ parts }) => parts.filter(isImagePart));
  const pixels = images.reduce((sum, part) => sum + pixelsOf(part), 0);
  return images.length * image + (pixels * megapixel) / million;
}
