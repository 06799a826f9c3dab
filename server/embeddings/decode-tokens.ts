/** Token arrays -> texts, for targets that take texts only or have another vocabulary than the client's. */
import { GatewayError } from "../lib/gateway-error.ts";
import type { EmbeddingsQuery } from "../upstream/contract.ts";
import { decode, describeTokenWithoutText, type TokenizerName } from "../upstream/tokenizers.ts";

/** After this many tokens the event loop gets a turn: a million tokens take tens of milliseconds. */
const tokensPerTurn = 65_536;

/** The query with texts in place of its tokens. Throws where tokens cannot be decoded. */
export async function decodeTokens(
  query: EmbeddingsQuery,
  tokenizer: TokenizerName,
): Promise<EmbeddingsQuery> {
  const { input } = query;
  if (input.kind === "text") return query;
  const texts: string[] = [];
  let decoded = 0;
  for (const [at, tokens] of input.tokens.entries()) {
    const text = await decode(tokenizer, tokens);
    if (text === undefined || text === "") throw await noText(at, tokens, tokenizer);
    texts.push(text);
    decoded += tokens.length;
    if (decoded < tokensPerTurn) continue;
    decoded = 0;
    await new Promise(setImmediate);
  }
  return { ...query, input: { kind: "text", texts } };
}

async function noText(
  at: number,
  tokens: readonly number[],
  tokenizer: TokenizerName,
): Promise<GatewayError> {
  const named = await describeTokenWithoutText(tokenizer, tokens);
  const reason = named
    ? `holds ${named} of ${tokenizer}, the tokenizer of OpenAI's embedding models. It has no text: leave it out, or send strings.`
    : `holds tokens that ${tokenizer}, the tokenizer of OpenAI's embedding models, cannot decode to text. Send strings.`;
  return new GatewayError("invalid_input", `'$.input' is invalid. Entry ${at} ${reason}`);
}
