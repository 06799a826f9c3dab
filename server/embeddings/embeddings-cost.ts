/** What a call for vectors cost: what its upstream counted, times the price there. */

import type { RequestRecord } from "../request/request-record.ts";
import { priceOf } from "../upstream/catalog/prices/embedding-price.ts";
import type { Target } from "../upstream/contract.ts";

/** `targets`: those that could have been asked. */
export function embeddingsCost(
  record: RequestRecord,
  targets: readonly Target[],
): number | undefined {
  const { inputs, cachedInputs, upstreamTokens } = record.embeddings;
  const { target, usedSeveralTargets } = record.routing;
  // Whatever was known already, or is there because another call asked for it, has been paid for.
  if (inputs > 0 && cachedInputs === inputs) return 0;
  // Who was asked for something and counts nothing does not count.
  if (!upstreamTokens || !target) return undefined;
  const price = priceOf(target);
  if (price === null) return undefined;
  // Parts of it went to several targets, and which answered which part is not written down.
  if (usedSeveralTargets && targets.some((other) => priceOf(other) !== price)) return undefined;
  return (upstreamTokens * price) / 1_000_000;
}
