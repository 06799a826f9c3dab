/**
 * The error message of a request as its ledger row has it: what the client got, without quoted values of the client's
 * own, because these may be an API key or a prompt.
 */
import type { GatewayError } from "../lib/gateway-error.ts";

const maxLength = 300;
/** A vendor's message may end within a quote. An apostrophe in a word is no quote. */
const quotes = /(?<!\w)(["'`])(.*?)(?:\1|$)/gs;
/** Names of parameters, models and formats, sizes, content types. No text, and no API key. */
const name = /^(?!sk-)[a-z0-9_$.:/[\]-]{1,40}$/;

/** A word or an acronym, with punctuation. Anything else in a vendor's message may be a value that the client sent. */
const word = /^[(["'`]*(?:[A-Z]?[^A-Z]{0,40}|[A-Z]{1,8}s?\W*)$/;

/**
 * The id of a model, such as `Qwen/Qwen3-Embedding-8B`. Clients also send an API key or a prompt in its place: a text
 * with a space, with a long run of letters and digits, or a UUID is none.
 */
const modelId =
  /^(?!sk-)(?!.*[a-z0-9]{16})(?!.*[0-9a-f]{8}-[0-9a-f]{4}-)[a-z0-9][\w.:/@+-]{0,63}$/i;

/** `isModelKnown`: the requested model exists. Null if the client got no response. */
export function recordedMessage(error: GatewayError, isModelKnown: boolean): string | null {
  if (error.kind === "client_closed") return null;
  const { message } = error;
  if (error.kind === "model_not_found" && !isModelKnown) return shortened(withModelId(message));
  return error.details.upstream ? recordedVendorMessage(message) : shortened(unquoted(message));
}

/** An operator sees a typo in the id, and not what cannot be an id. */
const withModelId = (message: string): string =>
  message.replace(
    /`(.*)`(.*)/s,
    (_, id: string, rest: string) => `\`${modelId.test(id) ? id : "…"}\`${unquoted(rest)}`,
  );

/** A vendor may repeat a part of the request, so words that may be a value of the client are left out. */
export const recordedVendorMessage = (message: string): string =>
  shortened(unquoted(message).replace(/\S+/g, (each) => (word.test(each) ? each : "…")));

const unquoted = (message: string): string =>
  message.replace(quotes, (whole, quote: string, text: string) =>
    name.test(text) ? whole : `${quote}…${quote}`,
  );

const shortened = (message: string): string =>
  message.length > maxLength ? `${message.slice(0, maxLength - 1)}…` : message;
