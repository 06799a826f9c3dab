/**
 * The expected price of a request at a target, for the `cost` routing policy. Used for comparison only, never charged.
 */

import { costOf } from "../ledger/cost.ts";
import type { StageRequest } from "../request/stage.ts";
import { priceOf } from "../upstream/catalog/prices/embedding-price.ts";
import { listedImagePrice } from "../upstream/catalog/prices/index.ts";
import type { GenerationQuery, Target } from "../upstream/contract.ts";

/** Every target gets the same texts, so the price per token is enough to compare. */
export const embeddingPrice = (_: unknown, target: Target): number | undefined =>
  priceOf(target) ?? undefined;

/** Undefined for models billed by token: the number of output tokens is not known in advance. */
export function imagePrice(
  { query, operation }: StageRequest<GenerationQuery>,
  target: Target,
): number | undefined {
  const { n = 1, size, quality } = query.options;
  const kind = operation === "edits" ? "edits" : "generations";
  const price =
    target.price ?? listedImagePrice(target, { operation: kind, extraFields: query.extraFields });
  return costOf(price, {
    images: n,
    size: size === "auto" ? undefined : size,
    quality: quality === "auto" ? undefined : quality,
  });
}
