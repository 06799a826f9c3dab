/**
 * List prices of upstreams, by kind and model, and the price of a target: as configured, or else as the vendor lists
 * it. A model that is not listed has no known price.
 */
import type { Price } from "../../../lib/price.ts";
import type { ExtraFields, Target } from "../../contract.ts";
import { knownEmbedding } from "../index.ts";
import { falPrices } from "./fal.ts";
import { flux } from "./flux.ts";
import { google } from "./google.ts";
import { ideogramPrices } from "./ideogram.ts";
import type { ListedPrice } from "./listed.ts";
import { openai } from "./openai.ts";
import { others } from "./others.ts";
import { stability } from "./stability.ts";
import { togetherPrices } from "./together.ts";

export const listedPrices: readonly ListedPrice[] = [
  ...openai,
  ...google,
  ...stability,
  ...flux,
  ...falPrices,
  ...togetherPrices,
  ...ideogramPrices,
  ...others,
];

/** Models that run inside the gateway are free. */
const builtInKinds: ReadonlySet<string> = new Set(["minilm", "local", "sketch", "migan"]);

interface ImageOperation {
  readonly operation: "generations" | "edits";
  /** The request's passthrough fields. */
  readonly extraFields: ExtraFields;
}

/** The vendor's list price of an image. */
export function listedImagePrice(
  target: Target,
  { operation, extraFields }: ImageOperation,
): Price | undefined {
  const { upstream, model } = target;
  if (builtInKinds.has(upstream.kind)) return { images: { "": 0 } };
  // A language model is billed as well, and its usage is not reported separately.
  if (target.surface === "responses") return undefined;
  const row = listedPrices.find(
    (entry) => entry.kinds.includes(upstream.kind) && entry.model.test(model),
  );
  if (
    !row ||
    !isServedBy(row, target) ||
    row.unless?.some((name) => extraFields[name] !== undefined)
  ) {
    return undefined;
  }
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

/** Looked up once for each target. null: not known. */
const prices = new WeakMap<Target, number | null>();

function lookUp(target: Target): number | null {
  // The configured price overrides the vendor's list price.
  const dollars = target.price ? target.price.tokens?.textIn : listedEmbeddingPrice(target);
  const found = dollars ?? null;
  prices.set(target, found);
  return found;
}

/** US dollars for a million tokens. null: not known. */
export function priceOf(target: Target): number | null {
  const known = prices.get(target);
  return known === undefined ? lookUp(target) : known;
}

/** Free of charge, by developers.openai.com/api/docs/guides/moderation. */
const freeAtOpenai = /^(omni|text)-moderation-/i;

/** US dollars for a million tokens. Undefined: not known. */
export function moderationPriceOf({ upstream, model, price }: Target): number | undefined {
  // The configured price overrides the vendor's list price.
  if (price) return price.tokens?.textIn;
  return upstream.kind === "openai" && freeAtOpenai.test(model) ? 0 : undefined;
}
