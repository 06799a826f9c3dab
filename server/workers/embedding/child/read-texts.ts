/** Tokenizes the texts of a request, one per step, and rejects inputs that the model does not support. */
import { GatewayError } from "../../../lib/gateway-error.ts";
import { type EmbedRequest, maxCharacters } from "../messages.ts";
import type { Model, Tokenized } from "../model.ts";

export function* readTexts(
  { dimensions, maxTokens, tokenizer }: Model,
  request: EmbedRequest,
): Generator<void, readonly Tokenized[]> {
  if (request.dimensions !== undefined && request.dimensions !== dimensions) {
    const message = `This model does not support specifying dimensions: it always gives ${dimensions}.`;
    throw new GatewayError("dimensions_unsupported", message, { param: "dimensions" });
  }
  const inputs: Tokenized[] = [];
  for (const [at, text] of request.texts.entries()) {
    const cut = text.length > maxCharacters;
    const ids = tokenizer.encode(cut ? text.slice(0, maxCharacters) : text);
    if (!request.truncate && (cut || ids.length > maxTokens)) {
      const which = request.texts.length > 1 ? { param: `input[${at}]` } : {};
      throw new GatewayError("context_length_exceeded", tooLong(ids.length, maxTokens, cut), which);
    }
    inputs.push({ text, ids: tokenizer.cut(ids, maxTokens) });
    yield;
  }
  return inputs;
}

/** OpenAI's wording, which some clients match, and how to fix it. */
function tooLong(tokens: number, maxTokens: number, cut: boolean): string {
  const allow = 'Please reduce your prompt; or send "truncate": true to have it cut.';
  const limit = `This model's maximum context length is ${maxTokens} tokens, however you requested`;
  const tokenCount = cut ? `more than ${tokens}` : tokens;
  return tokens > maxTokens
    ? `${limit} ${tokenCount} tokens (${tokenCount} in your prompt; 0 for the completion). ${allow}`
    : `${limit} an input of more than ${maxCharacters} characters. ${allow}`;
}
