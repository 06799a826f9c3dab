/**
 * Finds the input that an upstream's error refers to, and remaps its index. An upstream counts the inputs it was sent;
 * the client counts its own: between them, requests are split and cached inputs are left out.
 */
import { GatewayError } from "../lib/gateway-error.ts";

/**
 * "Invalid 'input[8]': maximum input length is 8192 tokens." (OpenAI), "Input id 1 has 9000 tokens, exceeding max 8192
 * tokens." (Mistral), "The example at index 0 in your batch has too many tokens …" (Voyage), `requests[2]` (Google),
 * `inputs[1]` (Text Embeddings Inference), and "Entry 3" of this gateway.
 */
const inputReference =
  /(?<!\]\.)\b(inputs?\[|requests\[|contents?\[|texts\[|Input id |example at index |Entry |input\.)(\d{1,6})\b/g;

/** Only messages about the length of an input; images have no such inputs. */
const aboutLength = /\b(tokens?|length|too long|context)\b/i;

/** The index of the rejected input. Undefined if the message names none or several. */
export function rejectedInputIndex(text: string): number | undefined {
  if (!aboutLength.test(text)) return undefined;
  const indexes = new Set([...text.matchAll(inputReference)].map(([, , index]) => Number(index)));
  return indexes.size === 1 ? [...indexes][0] : undefined;
}

/**
 * What vendors say of one input that has more tokens than the model reads: OpenAI, vLLM and SGLang ("maximum context
 * length"), Voyage ("context window"), Mistral, Jina, Perplexity, TwelveLabs and Text Embeddings Inference ("exceeds 512
 * tokens", "must have less than 512 tokens"), llama.cpp ("is larger than the max context size", "is too large to
 * process"), DashScope ("Range of input length should be"), NVIDIA ("Input length 9 exceeds maximum allowed token size
 * 4"), watsonx ("sequence length"), Cohere and Bedrock ("too many tokens"), Google ("input token count").
 */
const tooLong: readonly RegExp[] = [
  /\b(exceed\w*|maximum|longer|larger|fit\w*|requested)\b.*\bcontext (length|window|size)\b/is,
  /\bcontext (length|window|size)\b.*\b(exceed\w*|longer|requested)\b/is,
  /\bmaximum input length is\b/i,
  /\b(text|inputs?)\b(?:(?!\b(image|video|audio|file|url)).){0,40}\btoo (long|large to process)\b/is,
  /\binput length should be\b/i,
  /\b(text|inputs?|input id \d+)\b.{0,60}\b(exceed\w*|more than|less than|longer than)\b.{0,40}\b\d+ tokens\b/is,
  /\binput length\b.{0,20}\bexceeds\b.{0,40}\btoken (size|limit)\b/is,
  /\bsequence length is longer than\b/i,
  /\binput token count\b.*\b(supports?|exceeds?|maximum)\b/is,
];
/** Of all inputs together, if the message says so: then the request is split. */
const tooManyTokens = /\btoo many (input )?tokens\b/i;
const aboutAll = /\b(overall|batches|in total)\b/i;

/** Whether the message says that one input is too long for the model. */
export const isInputTooLong = (text: string): boolean =>
  tooLong.some((pattern) => pattern.test(text)) ||
  (tooManyTokens.test(text) && !aboutAll.test(text));

/** Remaps the error of a sub-batch to the client's request. `indexes`: the client's index of each of its inputs. */
export function remapInputIndex(error: unknown, indexes: readonly number[]): unknown {
  if (!(error instanceof GatewayError) || !isRefusal(error)) return error;
  const remapped = (text: string): string =>
    text.replace(inputReference, (all, before: string, index: string) =>
      indexes[Number(index)] === undefined ? all : `${before}${indexes[Number(index)]}`,
    );
  const { param } = error.details;
  // A sub-batch has one input: that input is too long.
  const isOnlyInput =
    indexes.length === 1 &&
    (param === undefined || param === "input") &&
    aboutLength.test(error.message);
  const newParam = isOnlyInput ? `input[${indexes[0]}]` : param && remapped(param);
  const message = remapped(error.message);
  if (message === error.message && newParam === param) return error;
  return new GatewayError(error.kind, message, {
    ...error.details,
    ...(newParam !== undefined && { param: newParam }),
  });
}

const isRefusal = ({ definition: row, kind: errorKind }: GatewayError): boolean =>
  row.retry === "never" && row.causedBy !== "gateway" && errorKind !== "model_not_found";
