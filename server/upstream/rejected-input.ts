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
