/**
 * Finds the input that an upstream's error means, and remaps its index. An upstream counts the inputs it was sent; the
 * client counts its own: between them, requests are split and cached inputs are left out.
 */
import { GatewayError } from "../lib/gateway-error.ts";

/**
 * "Invalid 'input[8]': maximum input length is 8192 tokens." (OpenAI), "Input id 1 has 9000 tokens, exceeding max 8192
 * tokens." (Mistral), "The example at index 0 in your batch has too many tokens …" (Voyage), `requests[2]` (Google),
 * `inputs[1]` (Text Embeddings Inference), and "Entry 3" of our own.
 */
const inputReference =
  /\b(inputs?\[|requests\[|contents?\[|texts\[|Input id |example at index |Entry |input\.)(\d{1,6})\b/g;

/** Only messages about the length of an input; images have no such inputs. */
const aboutLength = /\b(tokens?|length|too long|context)\b/i;

/** The index of the rejected input. Undefined if the message names none or several. */
export function rejectedInputIndex(words: string): number | undefined {
  if (!aboutLength.test(words)) return undefined;
  const places = new Set([...words.matchAll(inputReference)].map(([, , place]) => Number(place)));
  return places.size === 1 ? [...places][0] : undefined;
}

/** Remaps the error of a sub-batch to the client's request. `places`: the client's index of each input of the sub-batch. */
export function remapInputIndex(error: unknown, places: readonly number[]): unknown {
  if (!(error instanceof GatewayError) || !isRefusal(error)) return error;
  const moved = (words: string): string =>
    words.replace(inputReference, (all, before: string, place: string) =>
      places[Number(place)] === undefined ? all : `${before}${places[Number(place)]}`,
    );
  const { param } = error.details;
  // A sub-batch with one input: that input is the one that is too long.
  const alone =
    places.length === 1 &&
    (param === undefined || param === "input") &&
    aboutLength.test(error.message);
  const whole = alone ? `input[${places[0]}]` : param && moved(param);
  const message = moved(error.message);
  if (message === error.message && whole === param) return error;
  return new GatewayError(error.kind, message, {
    ...error.details,
    ...(whole !== undefined && { param: whole }),
  });
}

const isRefusal = ({ definition: row, kind: fault }: GatewayError): boolean =>
  row.retry === "never" && row.causedBy !== "gateway" && fault !== "model_not_found";
