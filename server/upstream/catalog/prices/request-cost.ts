/**
 * The cost of a request in US dollars: the price of each unit times the billed quantity. If one required part of a cost
 * is unknown, the whole is unknown: never 0, never a guess.
 */
import type { Price } from "../../price.ts";

/** A token count, split into text tokens and image tokens. */
export interface Split {
  readonly text: number;
  readonly image: number;
}

/** The billed quantities of a request. Undefined if they are unknown. */
export interface Delivered {
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  readonly input?: Split | undefined;
  readonly output?: Split | undefined;
  /** The number of images. */
  readonly images: number;
  /** Size and quality, if they are the same for all images. */
  readonly size?: string | undefined;
  readonly quality?: string | undefined;
  /** The cost that the upstream reported; it takes precedence over prices. */
  readonly reportedCost?: number | undefined;
}

const million = 1_000_000;

export function costOf(price: Price | undefined, delivered: Delivered): number | undefined {
  if (
    delivered.reportedCost !== undefined &&
    delivered.reportedCost >= 0 &&
    delivered.reportedCost < Number.POSITIVE_INFINITY
  ) {
    return delivered.reportedCost;
  }
  if (!price) return undefined;
  const parts: (number | undefined)[] = [];
  const { tokens, images, megapixel } = price;
  if (tokens) {
    parts.push(tokensCost(delivered.inputTokens, delivered.input, tokens.textIn, tokens.imageIn));
    // A price list with input prices only, as for embeddings, means that output is free.
    if (tokens.textOut !== undefined || tokens.imageOut !== undefined) {
      parts.push(
        tokensCost(delivered.outputTokens, delivered.output, tokens.textOut, tokens.imageOut),
      );
    }
  }
  if (images) parts.push(times(delivered.images, imageCost(images, delivered)));
  if (megapixel !== undefined) {
    const pixels = pixelsOf(delivered.size);
    parts.push(
      times(delivered.images, pixels === undefined ? undefined : (pixels * megapixel) / million),
    );
  }
  return parts.length === 0 ? undefined : parts.reduce(plus);
}

/** The pixels for estimates if the size is not WIDTHxHEIGHT, such as an aspect ratio: few models generate more. */
const largestUsualPixels = 2048 * 2048;

/**
 * Upper bound for estimates if the price list has no entry for the request: the highest prices of the list. Undefined
 * if the list is empty.
 */
export function highestListedCost(price: Price, delivered: Delivered): number | undefined {
  const { tokens, images, megapixel } = price;
  const [perToken, perImage] = [highest(tokens), highest(images)];
  const pixels = pixelsOf(delivered.size) ?? largestUsualPixels;
  const { input, output } = delivered;
  const counted = [input?.text, input?.image, output?.text, output?.image];
  const parts = [
    perToken === undefined ? undefined : sum(counted) * (perToken / million),
    times(delivered.images, perImage),
    megapixel === undefined ? undefined : (delivered.images * pixels * megapixel) / million,
  ];
  return parts.every((part) => part === undefined) ? undefined : sum(parts);
}

function highest(prices: object = {}): number | undefined {
  const listed = Object.values(prices).filter((price) => typeof price === "number");
  return listed.length === 0 ? undefined : Math.max(...listed);
}

const sum = (counts: readonly (number | undefined)[]): number =>
  counts.reduce<number>((all, count = 0) => all + count, 0);

function tokensCost(
  total: number | undefined,
  split: Split | undefined,
  text: number | undefined,
  image: number | undefined,
): number | undefined {
  if (split) return plus(shareCost(split.text, text), shareCost(split.image, image));
  // Without a split the total has a price only if text and image tokens cost the same.
  return total !== undefined && text === image ? shareCost(total, text) : undefined;
}

/** Zero tokens cost nothing, also if their price is unknown. */
function shareCost(count: number, price: number | undefined): number | undefined {
  if (count === 0) return 0;
  return price === undefined ? undefined : (count * price) / million;
}

/** Lookup order: quality and size together, then the quality, then the size, then the default price. */
function imageCost(
  table: NonNullable<Price["images"]>,
  { size, quality }: Delivered,
): number | undefined {
  const bySize = (prefix: string): number | undefined =>
    size === undefined ? undefined : (table[`${prefix}${size}`] ?? classOf(table, prefix, size));
  const ofQuality = quality === undefined ? undefined : (bySize(`${quality} `) ?? table[quality]);
  return ofQuality ?? bySize("") ?? table[""];
}

/** The price of the smallest `<=WIDTHxHEIGHT` class that includes the size. */
function classOf(
  table: NonNullable<Price["images"]>,
  prefix: string,
  size: string,
): number | undefined {
  const pixels = pixelsOf(size);
  if (pixels === undefined) return undefined;
  const start = `${prefix}<=`;
  let best: { readonly maxPixels: number; readonly price: number } | undefined;
  for (const [key, price] of Object.entries(table)) {
    const maxPixels = key.startsWith(start) ? pixelsOf(key.slice(start.length)) : undefined;
    if (maxPixels === undefined || maxPixels < pixels) continue;
    if (best && best.maxPixels <= maxPixels) continue;
    best = { maxPixels, price };
  }
  return best?.price;
}

function pixelsOf(size: string | undefined): number | undefined {
  const [, width, height] = /^(\d+)x(\d+)$/.exec(size ?? "") ?? [];
  return width === undefined ? undefined : Number(width) * Number(height);
}

const plus = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? undefined : a + b;

const times = (count: number, each: number | undefined): number | undefined =>
  each === undefined ? undefined : count * each;
