/**
 * Token counts and cost of an embeddings response: as the upstream reports them, or estimated for the client's `usage`
 * if it reports none.
 */
import type { RequestRecord } from "../request/request-record.ts";
import { priceOf } from "../upstream/catalog/prices/embedding-price.ts";
import type { EmbeddingInput, EmbeddingsResponse, Target } from "../upstream/contract.ts";
import { countTokens } from "../upstream/count-tokens.ts";

/**
 * The token count for the ledger, limits and costs. Servers that do not count tokens, such as LM Studio and LocalAI,
 * report 0: the client gets that 0, but here the count is unknown, since an input has at least one token.
 */
export const countedTokens = ({ usage }: Pick<EmbeddingsResponse, "usage">): number | undefined =>
  usage?.inputTokens || undefined;

/** Only for the `usage` that the client receives: an estimate is never recorded as if the upstream had reported it. */
export async function estimateInputTokens(input: EmbeddingInput): Promise<number> {
  if (input.kind === "text") return countTokens(input.texts);
  return input.tokens.reduce((sum, { length }) => sum + length, 0);
}

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
