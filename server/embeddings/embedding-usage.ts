/**
 * Token counts and cost of an embeddings response: as the upstream reports them, estimated for the client's `usage` if
 * it reports none, and divided among its inputs, because the cache and micro-batches need the count of each.
 */
import { apportion } from "../lib/apportion.ts";
import { estimateEmbeddings } from "../limits/estimate-cost.ts";
import type { ChargeAttempt } from "../request/charge-attempt.ts";
import type { Stage } from "../request/stage.ts";
import type {
  EmbeddingInput,
  EmbeddingsQuery,
  EmbeddingsResponse,
  InputPart,
  Target,
  Vector,
} from "../upstream/contract.ts";
import { estimatedImageTokens, textsOfEntry } from "../upstream/mixed-input.ts";
import { countTokens } from "../upstream/tokenizers.ts";

/**
 * The token count for the ledger, limits and costs. Servers that do not count tokens, such as LM Studio and LocalAI,
 * report 0: the client gets that 0, but here the count is unknown, since an input has at least one token.
 */
export const countedTokens = ({ usage }: Pick<EmbeddingsResponse, "usage">): number | undefined =>
  usage?.inputTokens || undefined;

/** `inputTokens`: undefined if it is unknown. */
export const responseOf = (
  vectors: readonly Vector[],
  inputTokens: number | undefined,
): EmbeddingsResponse =>
  inputTokens === undefined ? { vectors } : { vectors, usage: { inputTokens } };

/** Only for the `usage` that the client receives: an estimate is never recorded as if the upstream had reported it. */
export async function estimateInputTokens(input: EmbeddingInput): Promise<number> {
  if (input.kind === "text") return countTokens(input.texts);
  if (input.kind === "tokens") return input.tokens.reduce((sum, { length }) => sum + length, 0);
  const tokens = await countTokens(input.entries.flatMap(textsOfEntry));
  return input.entries
    .flatMap(({ parts }) => parts)
    .reduce(
      (sum, part) =>
        sum + (part.kind === "tokens" ? part.tokens.length : estimatedImageTokens(part)),
      tokens,
    );
}

/**
 * Charges an embeddings request for one attempt: by the cost that the upstream reports, by the tokens that it counted,
 * or by an estimate if both are unknown.
 */
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

/** In US dollars. Undefined if unknown. */
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

/** The stage that reports the tokens of each upstream request that was served, also if the request fails later. */
export const reportServed: Stage<EmbeddingsQuery, EmbeddingsResponse> = (next) => (request) =>
  next(request).then((response) => {
    request.report.addServed(response.vectors.length, countedTokens(response));
    return response;
  });

/**
 * Tokens of each input: exact if the model reports them per input, otherwise by an estimate. They add up to the usage.
 */
export function tokensPerInput(
  usage: NonNullable<EmbeddingsResponse["usage"]>,
  input: EmbeddingInput,
): readonly number[] {
  if (usage.perInput) return usage.perInput;
  return shareTokens(usage.inputTokens, tokenWeights(input));
}

function tokenWeights(input: EmbeddingInput): number[] {
  if (input.kind === "text") return input.texts.map(quarterTokens);
  if (input.kind === "tokens") return input.tokens.map((one) => one.length);
  return input.entries.map(({ parts }) => sumOf(parts.map(quarterTokensOfPart)));
}

function quarterTokensOfPart(part: InputPart): number {
  if (part.kind === "text") return quarterTokens(part.text);
  return 4 * (part.kind === "tokens" ? part.tokens.length : estimatedImageTokens(part));
}

/** Divides `total` by weight. Every weight above 0 gets at least 1, if `total` is large enough. */
function shareTokens(total: number, weights: readonly number[]): number[] {
  if (weights.length === 1) return [total];
  const shares = apportion(total, weights);
  const least = weights.map((weight) => Math.min(weight, 1));
  const raised = shares.map((share, at) => Math.max(share, least[at]!));
  const excess = sumOf(raised) - total;
  const spare = raised.map((share, at) => share - least[at]!);
  if (excess === 0 || excess > sumOf(spare)) return shares;
  const taken = apportion(excess, spare);
  return raised.map((share, at) => share - taken[at]!);
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0);

/** Estimated tokens, in quarters: as the limits estimate them (`tokensAt`), before they are rounded. */
export const quarterTokens = (text: string): number => 2 * Buffer.byteLength(text) - text.length;
