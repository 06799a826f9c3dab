/**
 * Token counts of an embeddings response: as the upstream reports them, or estimated for the client's `usage` if it
 * reports none.
 */

import type { EmbeddingInput, EmbeddingsResponse } from "../upstream/contract.ts";
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
