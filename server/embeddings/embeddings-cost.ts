/** Cost of an embeddings request: the tokens that the upstream reported, times its price. */

import type { RequestRecord } from "../request/request-record.ts";
import { priceOf } from "../upstream/catalog/prices/embedding-price.ts";
import type { Target } from "../upstream/contract.ts";

/** `targets`: all targets of the model. */
export function embeddingsCost(
  record: RequestRecord,
  targets: readonly Target[],
): number | undefined {
  const { inputs, cachedInputs, upstreamTokens } = record.embeddings;
  const { target, usedSeveralTargets } = record.routing;
  // Cached inputs, and inputs that another request in flight embedded (single-flight), cost nothing here.
  if (inputs > 0 && cachedInputs === inputs) return 0;
  // An upstream that reports no tokens: the cost is unknown.
  if (!upstreamTokens || !target) return undefined;
  const price = priceOf(target);
  if (price === null) return undefined;
  // Sub-requests went to several targets, and the record does not say which target served which.
  if (usedSeveralTargets && targets.some((other) => priceOf(other) !== price)) return undefined;
  return (upstreamTokens * price) / 1_000_000;
}
