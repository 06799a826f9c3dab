/**
 * Servers that truncate long inputs and do not report it. They do not return token counts before the request, so an
 * input is refused where it has more words than its model reads tokens: a word has at least one token in every
 * vocabulary. An input between the two limits is truncated in silence.
 */
import { GatewayError } from "../../../lib/gateway-error.ts";
import { knownEmbedding } from "../../catalog/index.ts";
import type { EmbeddingsQuery, Target } from "../../contract.ts";
import { truncation } from "./truncation.ts";

/** Returns the query without its truncation option. Throws if an input is too long, and the client did not allow that. */
export function checkLengths(query: EmbeddingsQuery, target: Target): EmbeddingsQuery {
  const { mayTruncate, extraFields } = truncation(query);
  const at = mayTruncate ? -1 : indexOfLongText(query, target);
  if (at >= 0) {
    throw new GatewayError(
      "context_length_exceeded",
      `This input has more words than the model reads tokens, which are at most ${maxTokensOf(target)}, and its end would be cut off. Shorten it, split it, or send \`truncate: true\`.`,
      { param: query.single ? "input" : `input[${at}]` },
    );
  }
  return extraFields === query.extraFields ? query : { ...query, extraFields };
}

export const isTruncated = (query: EmbeddingsQuery, target: Target): boolean =>
  indexOfLongText(query, target) >= 0;

const maxTokensOf = ({ model, upstream }: Target): number =>
  knownEmbedding(model, upstream.kind)?.maxTokens ?? Number.POSITIVE_INFINITY;

/** -1: no text is known to be too long. */
function indexOfLongText({ input }: EmbeddingsQuery, target: Target): number {
  if (input.kind !== "text") return -1;
  const maxTokens = maxTokensOf(target);
  // A word has a character at least, and a space before the next one.
  return input.texts.findIndex(
    (text) => text.length >= 2 * maxTokens && hasMoreWords(text, maxTokens),
  );
}

/** Letters and digits between white space: a tokenizer drops neither. */
const words = /(?<!\S)[^\s\p{L}\p{N}]*[\p{L}\p{N}]\S*/gu;

function hasMoreWords(text: string, maxTokens: number): boolean {
  let count = 0;
  for (const _ of text.matchAll(words)) if (++count > maxTokens) return true;
  return false;
}
