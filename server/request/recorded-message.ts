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

/** `isModelKnown`: the requested model exists. Null: the client got no response. */
export function recordedMessage(error: GatewayError, isModelKnown: boolean): string | null {
  if (error.kind === "client_closed") return null;
  const hidesModel = error.kind === "model_not_found" && !isModelKnown;
  const named = hidesModel ? error.message.replace(/`.*`/s, "`…`") : error.message;
  return error.details.upstream ? recordedVendorMessage(named) : shortened(unquoted(named));
}

/** A vendor may repeat a part of the request, so words that may be a value of the client are left out. */
export const recordedVendorMessage = (message: string): string =>
  shortened(unquoted(message).replace(/\S+/g, (each) => (word.test(each) ? each : "…")));

const unquoted = (message: string): string =>
  message.replace(quotes, (whole, quote: string, text: string) =>
    name.test(text) ? whole : `${quote}…${quote}`,
  );

const shortened = (message: string): string =>
  message.length > maxLength ? `${message.slice(0, maxLength - 1)}…` : message;
