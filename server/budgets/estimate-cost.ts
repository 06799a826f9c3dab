/** Estimates the cost of a request before it is sent: at the most expensive of its targets, since the target is not selected yet. */

import type { Policy } from "../images/plan/image-plan.ts";
import { planImage } from "../images/plan/plan.ts";
import { costOf, type Delivered, highestListedCost } from "../ledger/cost.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { TokenPrice } from "../lib/price.ts";
import { loadOf, type RequestLoad } from "../request/request-load.ts";
import {
  estimateImageTokens,
  unknownModelTokens,
} from "../upstream/catalog/images/image-tokens.ts";
import { priceOf } from "../upstream/catalog/prices/embedding-price.ts";
import { listedImagePrice } from "../upstream/catalog/prices/index.ts";
import type {
  EditQuery,
  EmbeddingsQuery,
  ExtraFields,
  GenerationQuery,
  Target,
} from "../upstream/contract.ts";
import type { ImageCapabilities } from "../upstream/image-capabilities.ts";
import { resolutionOf } from "../upstream/resolution.ts";
import type { Estimate } from "./budgets.ts";

/** What a model that is not asked for a size makes, or at most a little more than that. */
const usualSize = "1024x1024";
const million = 1_000_000;

/** What a call may cost at one target. Undefined: no price is known there. */
interface Cost {
  /** Likely. */
  readonly dollars: number;
  /** If every byte of text is a token of its own. */
  readonly most: number;
  /** What is meant is not in the list of prices, and the dearest that is stands in for it. */
  readonly unlisted?: boolean;
  /** Nobody has told how many tokens a picture of this model is. */
  readonly guessed?: boolean;
}

/** `guessed`: what such pictures cost lately may say more. */
export type ImageEstimate = Estimate & { readonly guessed?: true };

export function estimateEmbeddings(
  { input }: Pick<EmbeddingsQuery, "input">,
  targets: readonly Target[],
): Estimate {
  const dearest = highestPrices.get(targets) ?? findHighestPrice(targets);
  const { price, certain } = dearest;
  if (!price) return dearest.free;
  const load = loadOf(input);
  const most = mostTokens(load);
  const dollars = (load.tokens * price) / million;
  return most === load.tokens
    ? { dollars, isCertain: certain }
    : { dollars, maxDollars: (most * price) / million, isCertain: certain };
}

/** What the dearest target asks for a million tokens. Undefined: none says. */
interface HighestPrice {
  readonly price: number | undefined;
  /** All of them say. */
  readonly certain: boolean;
  /** The estimate where there is nothing to count. */
  readonly free: Estimate;
}

/** Looked up once for each list of targets: those of a model stay the same until the configuration changes. */
const highestPrices = new WeakMap<readonly Target[], HighestPrice>();

function findHighestPrice(targets: readonly Target[]): HighestPrice {
  const prices = targets.map(priceOf);
  const told = prices.filter((price) => price !== null);
  const price = targets.length === 0 ? 0 : told.length > 0 ? Math.max(...told) : undefined;
  const certain = told.length === prices.length;
  const found = { price, certain, free: { dollars: price, isCertain: certain } };
  highestPrices.set(targets, found);
  return found;
}

/**
 * A vocabulary of bytes, as OpenAI's, has a token for each byte at worst; those of words and signs have one for each
 * sign at worst, and one before and one behind each text. Tokens of a caller's own are counted.
 */
const mostTokens = ({ tokens, bytes, items }: RequestLoad): number =>
  bytes === 0 ? tokens : bytes + 2 * items;

export interface ImageEstimateInput {
  readonly operation: "generations" | "edits";
  readonly query: GenerationQuery | EditQuery;
  readonly targets: readonly Target[];
  readonly policy: Policy;
  readonly traits: (target: Target, operation: "generations" | "edits") => ImageCapabilities;
}

export function estimateImages(picturing: ImageEstimateInput): ImageEstimate {
  const { operation, query, targets, policy, traits } = picturing;
  return dearest(
    targets.flatMap((target) => {
      const planned = tryPlan(query, traits(target, operation), policy);
      return planned ? [imageCost(operation, planned, target)] : [];
    }),
  );
}

/** Who cannot serve a call will not be paid for it; that is told by a stage. */
function tryPlan(
  query: GenerationQuery | EditQuery,
  traits: ImageCapabilities,
  policy: Policy,
): GenerationQuery | EditQuery | undefined {
  try {
    return planImage(query, traits, policy).query;
  } catch (error) {
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}

function imageCost(
  operation: "generations" | "edits",
  query: GenerationQuery | EditQuery,
  target: Target,
): Cost | undefined {
  const price = target.price ?? listedImagePrice(target, { operation, rest: query.rest });
  if (!price) return undefined;
  const { n = 1 } = query.options;
  const size = unlessAuto(query.options.size) ?? query.requestedSize;
  const quality = unlessAuto(query.options.quality);
  const words = loadOf({ kind: "text", texts: [query.prompt] });
  const counted = price.tokens && tokensOf(query, target, price.tokens);
  const atMost = counted?.with(mostTokens(words)) ?? {};
  const likely = counted?.with(words.tokens) ?? {};
  const guessed = counted?.guessed === true;
  const costs = (what: Pick<Delivered, "size" | "quality">): Cost | undefined => {
    const dollars = costOf(price, { ...likely, ...what, images: n });
    const most = costOf(price, { ...atMost, ...what, images: n });
    return dollars === undefined || most === undefined ? undefined : { dollars, most, guessed };
  };
  const plain = costs({ size, quality });
  if (plain) return plain;
  const sized = size ?? usualSize;
  // Unasked it chooses by itself, and may choose the dearest.
  const qualities = quality === undefined ? qualitiesOf(price.images ?? {}) : [];
  const found =
    costs({ size: sized, quality }) ??
    most(qualities.map((q) => costs({ size: sized, quality: q })));
  if (found) return found;
  const row = highestListedCost(price, { ...atMost, size: sized, images: n });
  return row === undefined ? undefined : { dollars: row, most: row, unlisted: true, guessed };
}

interface Counted {
  readonly guessed: boolean;
  /** `words`: tokens of the prompt. */
  with(words: number): Pick<Delivered, "input" | "output">;
}

function tokensOf(
  query: GenerationQuery | EditQuery,
  { model }: Target,
  { textOut }: TokenPrice,
): Counted {
  const { size, quality, n = 1, ...more } = query.options;
  const { partial_images: previews = 0, input_fidelity: fidelity } = more;
  const told = estimateImageTokens(model);
  // A target that takes aspect ratios is asked for the resolution class of the wanted size.
  const wanted = query.requestedSize === undefined ? undefined : resolutionOf(query);
  const [large, fine] = [
    sizeClassOf(query.rest) ?? unlessAuto(size) ?? wanted,
    unlessAuto(quality),
  ];
  const listed = told?.out(large, fine);
  // A model, or a size of it, that nobody has told the tokens of: the most that any other has.
  const drawn = listed ?? unknownModelTokens.out(large, fine);
  // Where words have no price, whoever wrote it down expects none.
  const {
    words: said = 0,
    preview = 0,
    ...given
  } = told ?? (textOut === undefined ? { ...unknownModelTokens, words: 0 } : unknownModelTokens);
  const shown = "images" in query ? query.images.length + (query.mask ? 1 : 0) : 0;
  const perShown = fidelity === "high" ? (given.inClosely ?? given.in) : given.in;
  return {
    guessed: listed === undefined,
    // community.openai.com/t/1381388: several pictures of one call "are billed as though they were separately performed".
    with: (words) => ({
      input: { text: n * words, image: n * shown * perShown },
      output: { text: n * said, image: n * (drawn + previews * preview) },
    }),
  };
}

const unlessAuto = (value: string | undefined): string | undefined =>
  value === "auto" ? undefined : value;

/** Google's own word for how large, which rides along. */
function sizeClassOf({ imageConfig, generationConfig }: ExtraFields): string | undefined {
  const own = memberOf(imageConfig, "imageSize");
  const size = own ?? memberOf(memberOf(generationConfig, "imageConfig"), "imageSize");
  return typeof size === "string" ? size : undefined;
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? (value as ExtraFields)[name] : undefined;

/** Those that a table of prices knows: "high" of "high" and of "high 1024x1024". */
const qualitiesOf = (pictures: Readonly<Record<string, number>>): string[] =>
  Object.keys(pictures)
    .map((key) => key.split(" ")[0] ?? "")
    .filter((word) => word !== "" && !/^(<=)?\d+x\d+$/.test(word));

const most = (costs: readonly (Cost | undefined)[]): Cost | undefined =>
  costs.reduce(
    (a, b) => (a === undefined || (b !== undefined && b.most > a.most) ? b : a),
    undefined,
  );

/** One of unknown price makes the whole uncertain; what the others cost is known all the same. */
function dearest(costs: readonly (Cost | undefined)[]): ImageEstimate {
  if (costs.length === 0) return { dollars: 0, isCertain: true };
  const { dollars, most: atMost } = most(costs) ?? {};
  return {
    dollars,
    ...(atMost !== dollars && { maxDollars: atMost }),
    ...(costs.some((cost) => cost?.guessed) && { guessed: true }),
    isCertain: costs.every((cost) => cost !== undefined && !cost.unlisted),
  };
}
