/** What a call for vectors cost: what its upstream counted, times the price there. */
import { listedVectorPrice } from "../upstream/catalog/prices/index.ts";
import type { Target } from "../upstream/contract.ts";
import type { Trip } from "../request/request-record.ts";

/** Looked up once for each target. null: not known. */
const prices = new WeakMap<Target, number | null>();

function look(target: Target): number | null {
  // What the configuration says wins over the vendor's list.
  const dollars = target.price ? target.price.tokens?.textIn : listedVectorPrice(target);
  const found = dollars ?? null;
  prices.set(target, found);
  return found;
}

/** US dollars for a million tokens. null: not known. */
export function priceOf(target: Target): number | null {
  const known = prices.get(target);
  return known === undefined ? look(target) : known;
}

/** `targets`: those that could have been asked. */
export function vectorsCost(trip: Trip, targets: readonly Target[]): number | undefined {
  const { upstreamTokens, target } = trip;
  // Whatever was known already, or is there because another call asked for it, has been paid for.
  if (trip.inputs > 0 && trip.cachedInputs === trip.inputs) return 0;
  // Who was asked for something and counts nothing does not count.
  if (!upstreamTokens || !target) return undefined;
  const price = priceOf(target);
  if (price === null) return undefined;
  // Parts of it went to several targets, and which answered which part is not written down.
  if (trip.isScattered && targets.some((other) => priceOf(other) !== price)) return undefined;
  return (upstreamTokens * price) / 1_000_000;
}
