/** What a call is expected to cost at a target, for those who go by the price. Compared, and never charged. */

import { costOf } from "../ledger/cost.ts";
import type { Call } from "../request/stage.ts";
import { priceOf } from "../upstream/catalog/prices/embedding-price.ts";
import { listedImagePrice } from "../upstream/catalog/prices/index.ts";
import type { GenerationQuery, Target } from "../upstream/contract.ts";

/** The same texts everywhere, so what a token costs is enough. */
export const embeddingPrice = (_: unknown, target: Target): number | undefined =>
  priceOf(target) ?? undefined;

/** Where tokens are charged for, nobody knows beforehand how many there will be. */
export function imagePrice(
  { query, operation }: Call<GenerationQuery>,
  target: Target,
): number | undefined {
  const { n = 1, size, quality } = query.options;
  const kind = operation === "edits" ? "edits" : "generations";
  const price = target.price ?? listedImagePrice(target, { operation: kind, rest: query.rest });
  return costOf(price, {
    images: n,
    size: size === "auto" ? undefined : size,
    quality: quality === "auto" ? undefined : quality,
  });
}
