/**
 * Cost estimate of a request before it is sent: at the most expensive of its targets, since the target is not selected
 * yet.
 */

import {
  estimateImageTokens,
  unknownModelTokens,
} from "../upstream/catalog/images/image-tokens.ts";
import { estimateMixedCost } from "../upstream/catalog/prices/mixed-cost.ts";
import { listedImagePrice, moderationPriceOf } from "../upstream/catalog/prices/model-price.ts";
import {
  costOf,
  type Delivered,
  highestListedCost,
} from "../upstream/catalog/prices/request-cost.ts";
import type {
  EditQuery,
  EmbeddingsQuery,
  ExtraFields,
  GenerationQuery,
  ImageOperation,
  MixedInput,
  ModerationQuery,
  Target,
} from "../upstream/contract.ts";
import { countSources } from "../upstream/edit-sources.ts";
import { resolutionOf } from "../upstream/image-sizes.ts";
import type { TokenPrice } from "../upstream/price.ts";
import { loadOf, type RequestLoad } from "./request-demand.ts";

/** The usual size of an image without a size parameter; some models generate slightly more. */
const usualSize = "1024x1024";
const million = 1_000_000;

/** The estimated cost of a request. */
export interface CostEstimate {
  /** The likely cost in US dollars. Undefined if no price is known. */
  readonly dollars: number | undefined;
  /** The upper bound, which is reserved if it fits. If absent, the same as `dollars`. */
  readonly maxDollars?: number | undefined;
  /** The part of the cost that is reserved already, in US dollars. */
  readonly reservedPart?: number;
  /** Every target that can serve the request has a known price for it. */
  readonly isCertain: boolean;
}

/** The possible cost of a request at one target. Undefined if no price is known. */
interface Cost {
  /** The likely cost. */
  readonly dollars: number;
  /** The upper bound: every byte of text is one token. */
  readonly maxDollars: number;
  /** The size or quality is not in the price list, so the highest listed price is used. */
  readonly unlisted?: boolean;
}

export function estimateEmbeddings(
  { input }: Pick<EmbeddingsQuery, "input">,
  targets: readonly Target[],
): CostEstimate {
  if (input.kind === "mixed") return estimateMixed(input, targets);
  let price = targets.length === 0 ? 0 : undefined;
  let isCertain = true;
  for (const { tokenPrice } of targets) {
    if (tokenPrice === undefined) isCertain = false;
    else price = Math.max(price ?? 0, tokenPrice);
  }
  // If the price is 0 or unknown, the estimate needs no token count.
  if (!price) return { dollars: price, isCertain };
  const load = loadOf(input);
  const maxTokens = maxTokensOf(load);
  const dollars = (load.tokens * price) / million;
  return maxTokens === load.tokens
    ? { dollars, isCertain }
    : { dollars, maxDollars: (maxTokens * price) / million, isCertain };
}

/** More tokens than any vendor counts for an image: see `verify-response.ts`. */
const maxImageTokens = (pixels: number): number => 16_384 + pixels / 256;

/** An image that is not downloaded yet counts as 1024x1024. */
function estimateMixed(input: MixedInput, targets: readonly Target[]): CostEstimate {
  const load = (text: string) => loadOf({ kind: "text", texts: [text] });
  return mostExpensive(
    targets.map((target) => {
      const dollars = estimateMixedCost(input, target, { ofText: (text) => load(text).tokens });
      const maxDollars = estimateMixedCost(input, target, {
        ofText: (text) => maxTokensOf(load(text)),
        ofImage: maxImageTokens,
      });
      return dollars === undefined || maxDollars === undefined
        ? undefined
        : { dollars, maxDollars };
    }),
  );
}

export function estimateModeration(
  { input }: ModerationQuery,
  target: Target | undefined,
): CostEstimate {
  const price = target && moderationPriceOf(target);
  if (!price) return { dollars: price, isCertain: price !== undefined };
  const load = loadOf(input);
  return {
    dollars: (load.tokens * price) / million,
    maxDollars: (maxTokensOf(load) * price) / million,
    isCertain: true,
  };
}

/**
 * The upper bound of tokens: a byte-level vocabulary, such as OpenAI's, has at most one token per byte; word-piece
 * vocabularies have at most one per character, one before each text and one after it. In token arrays, the tokens
 * themselves are counted.
 */
const maxTokensOf = ({ tokens, bytes, items }: RequestLoad): number =>
  bytes === 0 ? tokens : bytes + 2 * items;

type ImageQuery = GenerationQuery | EditQuery;

export interface ImageEstimateInput {
  readonly operation: ImageOperation;
  readonly targets: readonly Target[];
  /**
   * The query as this target would receive it. Undefined if the target cannot serve the request, so it will not be
   * billed. A later stage returns the error.
   */
  readonly planFor: (target: Target) => ImageQuery | undefined;
}

export function estimateImages(input: ImageEstimateInput): CostEstimate {
  const { operation, targets, planFor } = input;
  return mostExpensive(
    targets.flatMap((target) => {
      const planned = planFor(target);
      return planned ? [imageCost(operation, planned, target)] : [];
    }),
  );
}

/** The likely cost of images at the target, as it receives the query. In US dollars; undefined: no price is known. */
export function estimateImagesAt(
  target: Target,
  operation: ImageOperation,
  query: ImageQuery,
): number | undefined {
  const cost = imageCost(operation, query, target);
  return cost && cost.dollars * (target.priceFactor ?? 1);
}

function imageCost(operation: ImageOperation, query: ImageQuery, target: Target): Cost | undefined {
  const price =
    target.price ?? listedImagePrice(target, { operation, extraFields: query.extraFields });
  if (!price) return undefined;
  const { n = 1 } = query.options;
  const size = explicitValue(query.options.size) ?? query.requestedSize;
  const quality = explicitValue(query.options.quality);
  const prompt = loadOf({ kind: "text", texts: [query.prompt] });
  const tokenCounts = price.tokens && tokensOf(query, target, price.tokens);
  const maxTokenCounts = tokenCounts?.(maxTokensOf(prompt)) ?? {};
  const likelyTokenCounts = tokenCounts?.(prompt.tokens) ?? {};
  const costs = (sizeAndQuality: Pick<Delivered, "size" | "quality">): Cost | undefined => {
    const dollars = costOf(price, { ...likelyTokenCounts, ...sizeAndQuality, images: n });
    const maxDollars = costOf(price, { ...maxTokenCounts, ...sizeAndQuality, images: n });
    return dollars === undefined || maxDollars === undefined ? undefined : { dollars, maxDollars };
  };
  const listedCost = costs({ size, quality });
  if (listedCost) return listedCost;
  const sizeOrUsual = size ?? usualSize;
  // Without a quality parameter the model may choose the most expensive one.
  const qualities = quality === undefined ? qualitiesOf(price.images ?? {}) : [];
  const found =
    costs({ size: sizeOrUsual, quality }) ??
    highestCost(qualities.map((q) => costs({ size: sizeOrUsual, quality: q })));
  if (found) return found;
  const highest = highestListedCost(price, { ...maxTokenCounts, size: sizeOrUsual, images: n });
  return highest === undefined
    ? undefined
    : { dollars: highest, maxDollars: highest, unlisted: true };
}

/** By the tokens of the prompt. */
type TokenEstimate = (promptTokens: number) => Pick<Delivered, "input" | "output">;

function tokensOf(query: ImageQuery, { model }: Target, { textOut }: TokenPrice): TokenEstimate {
  const { size, quality, n = 1, input_fidelity: fidelity } = query.options;
  const { partial_images: partialImages = 0 } = query.options;
  const documented = estimateImageTokens(model);
  // A target that takes aspect ratios gets the resolution class of the requested size.
  const resolution = query.requestedSize === undefined ? undefined : resolutionOf(query);
  const [sizeClass, explicitQuality] = [
    sizeClassOf(query.extraFields) ?? explicitValue(size) ?? resolution,
    explicitValue(quality),
  ];
  // Without documented tokens for the model or the size, the highest count of any model is used.
  const perImage =
    documented?.out(sizeClass, explicitQuality) ??
    unknownModelTokens.out(sizeClass, explicitQuality);
  // A price without `textOut` means that the model returns no text.
  const {
    textOut: textOutput = 0,
    partialOut: partialImageTokens = 0,
    ...imageTokens
  } = documented ??
  (textOut === undefined ? { ...unknownModelTokens, textOut: 0 } : unknownModelTokens);
  const inputImages = countSources(query);
  const tokensPerInputImage =
    fidelity === "high" ? (imageTokens.inHighFidelity ?? imageTokens.in) : imageTokens.in;
  // community.openai.com/t/1381388: several images of one request "are billed as though they were separately
  // performed".
  return (promptTokens) => ({
    input: { text: n * promptTokens, image: n * inputImages * tokensPerInputImage },
    output: { text: n * textOutput, image: n * (perImage + partialImages * partialImageTokens) },
  });
}

const explicitValue = (value: string | undefined): string | undefined =>
  value === "auto" ? undefined : value;

/** Google's own size class, from the extra fields of the request. */
function sizeClassOf({ imageConfig, generationConfig }: ExtraFields): string | undefined {
  const topLevel = memberOf(imageConfig, "imageSize");
  const size = topLevel ?? memberOf(memberOf(generationConfig, "imageConfig"), "imageSize");
  return typeof size === "string" ? size : undefined;
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? (value as ExtraFields)[name] : undefined;

/** The qualities in a price table. The keys `high` and `high 1024x1024` both have the quality `high`. */
const qualitiesOf = (prices: Readonly<Record<string, number>>): string[] =>
  Object.keys(prices)
    .map((key) => key.split(" ")[0] ?? "")
    .filter((word) => word !== "" && !/^(<=)?\d+x\d+$/.test(word));

const highestCost = (costs: readonly (Cost | undefined)[]): Cost | undefined =>
  costs.reduce(
    (a, b) => (a === undefined || (b !== undefined && b.maxDollars > a.maxDollars) ? b : a),
    undefined,
  );

/** A target without a known price makes the estimate uncertain; the known prices are used all the same. */
function mostExpensive(costs: readonly (Cost | undefined)[]): CostEstimate {
  if (costs.length === 0) return { dollars: 0, isCertain: true };
  const { dollars, maxDollars } = highestCost(costs) ?? {};
  return {
    dollars,
    ...(maxDollars !== dollars && { maxDollars }),
    isCertain: costs.every((cost) => cost !== undefined && !cost.unlisted),
  };
}
