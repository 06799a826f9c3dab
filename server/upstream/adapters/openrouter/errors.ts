/** Maps OpenRouter errors: a number as the code, and in `metadata` the reason or the error of the vendor behind it. */
import type { GatewayError } from "../../../lib/gateway-error.ts";
import type { ErrorContext, UpstreamResponse } from "../../adapter.ts";
import { messageIn, replayBody } from "../wire/error-body.ts";
import { codeIn, isCount, memberOf } from "../wire/members.ts";
import { type ErrorMeaning, nativeErrorReader, type VendorError } from "../wire/native-errors.ts";
import { readOpenaiError, readStreamError } from "../wire/openai-errors.ts";

const metadataIn = (body: unknown): unknown => memberOf(memberOf(body, "error"), "metadata");

/** openrouter.ai/docs/api/reference/errors-and-debugging. */
function classify({ status, body }: VendorError): ErrorMeaning | undefined {
  const raw = rawIn(body);
  const blocked = /\b(moderation_blocked|content_policy_violation)\b/.test(raw.text);
  if (blocked || isModeration(metadataIn(body))) return "moderated";
  // "… is not a valid model ID" comes with 400.
  if (/\b(not a valid model ID|No endpoints found)\b/i.test(messageIn(body) ?? "")) {
    return "no such model";
  }
  // Timeout at the edge of OpenRouter's network.
  if (status === 524) return "timed out";
  return status === 400 && raw.message !== undefined ? "rejected" : undefined;
}

export const openrouterErrorReader = nativeErrorReader({
  classify,
  // "Provider returned error" is not informative.
  messageOf: (body) => rawIn(body).message ?? messageIn(body),
  fallback: readOpenaiError,
});

/** A failure after the model has begun is inside a response with status 200, or in its stream. */
export async function errorIn(
  body: unknown,
  response: UpstreamResponse,
  context: ErrorContext,
): Promise<GatewayError> {
  const status = memberOf(memberOf(body, "error"), "code");
  // In a stream the error has the format of the vendor behind it, which is OpenAI.
  return isCount(status) && status >= 400
    ? openrouterErrorReader(replayBody(response, body, status), context)
    : readStreamError(body, context);
}

const isModeration = (metadata: unknown): boolean =>
  Array.isArray(memberOf(metadata, "reasons")) ||
  ["content_policy_violation", "refusal"].includes(codeIn(metadata, "error_type"));

/** The raw error of the vendor behind OpenRouter. */
function rawIn(body: unknown): { readonly text: string; readonly message?: string } {
  const raw = memberOf(metadataIn(body), "raw");
  const text = typeof raw === "string" ? raw : (JSON.stringify(raw) ?? "");
  try {
    const message = messageIn(JSON.parse(text));
    return { text, ...(message !== undefined && { message }) };
  } catch {
    return { text };
  }
}
