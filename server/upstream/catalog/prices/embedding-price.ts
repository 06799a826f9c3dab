/** The price of a target's embeddings: as configured, or else as the vendor lists it. */
import type { Target } from "../../contract.ts";
import { listedEmbeddingPrice } from "./index.ts";

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
