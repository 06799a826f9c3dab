/**
 * Charges an embeddings request for one attempt: by the cost that the upstream reports, by the tokens that it counted,
 * or by an estimate if both are unknown.
 */
import { estimateEmbeddings } from "../limits/estimate-cost.ts";
import type { ChargeAttempt } from "../request/charge-attempt.ts";
import type { EmbeddingsQuery, EmbeddingsResponse, Target } from "../upstream/contract.ts";
import { countedTokens } from "./embedding-usage.ts";

export const chargeEmbeddings: ChargeAttempt<EmbeddingsQuery, EmbeddingsResponse> = (
  { query, report },
  target,
  response,
) => {
  const cost = response && costOf(response, query, target);
  report.addCharge({
    target,
    billed: response ? "yes" : "maybe",
    cost,
    estimate: cost === undefined ? estimateEmbeddings(query, [target]).dollars : undefined,
  });
};

/** In US dollars. Undefined: unknown. */
function costOf(
  response: EmbeddingsResponse,
  { input }: EmbeddingsQuery,
  { tokenPrice }: Target,
): number | undefined {
  if (response.cost !== undefined) return response.cost;
  // The price of an image may differ from that of text, so tokens alone have no price.
  if (input.kind === "mixed" || tokenPrice === undefined) return undefined;
  if (tokenPrice === 0) return 0;
  const tokens = countedTokens(response);
  return tokens === undefined ? undefined : (tokens * tokenPrice) / 1_000_000;
}
