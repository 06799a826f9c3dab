/**
 * The price of a model at an upstream. It comes from `price` of the target in vexel.yaml, or else from the vendor's
 * list price: for image models a row of this folder, for embedding models the field `price` of the model's row in
 * `server/upstream/catalog/`. List prices are copied by hand, from the vendor's page or from the price file of another
 * project that collects them, such as LiteLLM; each row, or `price-sources.ts`, names the source and the date. They
 * change with a release, not at runtime. A model without a row has no known price: never 0, never a guess.
 */
import type { ExtraFields, ImageOperation, Target } from "../../contract.ts";
import type { ImageInputPrice, Price } from "../../price.ts";
import { knownEmbedding } from "../index.ts";
import { falPrices } from "./fal.ts";
import { flux } from "./flux.ts";
import { foundry } from "./foundry.ts";
import { google } from "./google.ts";
import { ideogramPrices } from "./ideogram.ts";
import type { ListedPrice } from "./listed-price.ts";
import { openai } from "./openai.ts";
import { others } from "./others.ts";
import { stability } from "./stability.ts";
import { togetherPrices } from "./together.ts";

export const listedPrices: readonly ListedPrice[] = [
  ...openai,
  ...google,
  ...stability,
  ...flux,
  ...foundry,
  ...falPrices,
  ...togetherPrices,
  ...ideogramPrices,
  ...others,
];

/** Models that run inside the gateway are free. */
const builtInKinds: ReadonlySet<string> = new Set(["minilm", "local", "sketch"]);

interface PricedRequest {
  readonly operation: ImageOperation;
  /** The request's passthrough fields. */
  readonly extraFields: ExtraFields;
}

/** The row of an image model in the price lists. */
export function imagePriceRow(target: Target): ListedPrice | undefined {
  const { upstream, model } = target;
  const row = listedPrices.find(
    (entry) => entry.kinds.includes(upstream.kind) && entry.model.test(model),
  );
  return row && isServedBy(row, target) ? row : undefined;
}

/** The vendor's list price of an image. */
export function listedImagePrice(
  target: Target,
  { operation, extraFields }: PricedRequest,
): Price | undefined {
  if (builtInKinds.has(target.upstream.kind)) return { images: { "": 0 } };
  // A language model is billed as well, and its usage is not reported separately.
  if (target.surface === "responses") return undefined;
  const row = imagePriceRow(target);
  if (!row || row.unless?.some((name) => extraFields[name] !== undefined)) return undefined;
  const price = operation === "edits" ? (row.edits ?? row.price) : row.price;
  return price === "unknown" ? undefined : price;
}

const isServedBy = ({ at }: ListedPrice, { upstream }: Target): boolean =>
  at === undefined || at.test(upstream.baseUrl ?? "");

/** US dollars for a million input tokens, by the vendor's list. */
export const listedEmbeddingPrice = ({ upstream, model }: Target): number | undefined =>
  builtInKinds.has(upstream.kind)
    ? 0
    : knownEmbedding(model, upstream.kind)?.price?.[upstream.kind];

/** The target of an embedding model with its prices. The configured price overrides the vendor's list price. */
export function withEmbeddingPrices(target: Target): Target {
  const { price, upstream, model } = target;
  const tokenPrice = price ? price.tokens?.textIn : listedEmbeddingPrice(target);
  const known = knownEmbedding(model, upstream.kind);
  const imageInputPrice = price ? imageInputPriceOf(price) : known?.imagePrice?.[upstream.kind];
  return {
    ...target,
    ...(tokenPrice !== undefined && { tokenPrice }),
    ...(imageInputPrice && { imageInputPrice }),
  };
}

/** Undefined if the price has none of images. */
function imageInputPriceOf({ tokens, images, megapixel }: Price): ImageInputPrice | undefined {
  const image = images?.[""];
  const price = {
    ...(tokens?.imageIn !== undefined && { tokens: tokens.imageIn }),
    ...(image !== undefined && { image }),
    ...(megapixel !== undefined && { megapixel }),
  };
  return Object.keys(price).length > 0 ? price : undefined;
}

/** Free of charge, by developers.openai.com/api/docs/guides/moderation. */
const freeAtOpenai = /^(omni|text)-moderation-/i;

/** US dollars for a million tokens. Undefined if not known. */
export function moderationPriceOf({ upstream, model, price }: Target): number | undefined {
  // The configured price overrides the vendor's list price.
  if (price) return price.tokens?.textIn;
  return upstream.kind === "openai" && freeAtOpenai.test(model) ? 0 : undefined;
}
