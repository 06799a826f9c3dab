/** Token arrays -> texts, for targets that take texts only or have another vocabulary than the client's. */
import { GatewayError } from "../lib/gateway-error.ts";
import type { EmbeddingsQuery } from "../upstream/contract.ts";
import { decode, type TokenizerName } from "../upstream/tokenizers.ts";

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
    if (text === undefined || text === "") throw noText(at, tokenizer);
    texts.push(text);
    decoded += tokens.length;
    if (decoded < tokensPerTurn) continue;
    decoded = 0;
    await new Promise(setImmediate);
  }
  return { ...query, input: { kind: "text", texts } };
}

const noText = (at: number, tokenizer: TokenizerName): GatewayError =>
  new GatewayError(
    "invalid_input",
    `'$.input' is invalid. Entry ${at} holds tokens that ${tokenizer}, the tokenizer of OpenAI's embedding models, cannot decode to text. Send strings.`,
  );
