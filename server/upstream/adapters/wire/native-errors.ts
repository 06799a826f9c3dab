/**
 * Error mapping for vendors with a native error format: a status, a message and sometimes a code. They are converted to
 * OpenAI's error fields, which openai-errors.ts then maps for all vendors.
 */
import { GatewayError } from "../../../lib/gateway-error.ts";
import type { Adapter, ImageRequestContext, UpstreamResponse } from "../../adapter.ts";
import type { Upstream } from "../../contract.ts";
import { messageIn, readErrorBody, redact, replayBody, without } from "./error-body.ts";
import { memberOf } from "./members.ts";
import { type ErrorFields, errorFieldsToGatewayError } from "./openai-errors.ts";

export interface VendorError {
  readonly status: number;
  /** Empty if the response has no message. */
  readonly message: string;
  readonly body: unknown;
  readonly headers: UpstreamResponse["headers"];
}

/** The meaning of an error, if its status alone does not determine it. */
export type ErrorMeaning =
  | "moderated"
  | "rejected"
  | "no such model"
  | "too much at once"
  | "too many inputs"
  | "no credit"
  | "wrong key"
  | "forbidden"
  | "too fast"
  | "busy"
  | "timed out"
  | "wrong address";

/** Names of the operator's accounts and hosts that a vendor's message may contain, and that are redacted. */
export type OwnNames = (upstream: Upstream) => readonly (string | undefined)[];

interface NativeErrorMapping {
  readonly classify?: (error: VendorError) => ErrorMeaning | false | undefined;
  /** Reads the vendor's message, if it is not in one of the usual fields. */
  readonly messageOf?: (body: unknown) => string | undefined;
  readonly names?: OwnNames;
  /** Removes anything else that clients must not see from the message. */
  readonly redactMessage?: (text: string) => string;
  /** How long to wait, if no header has it. */
  readonly retryAfterMs?: (error: VendorError) => number | undefined;
  /** Maps errors that `classify` does not know, for vendors with OpenAI's error format. If absent, mapped by status. */
  readonly fallback?: Adapter["readError"];
}

export const nativeErrorReader = ({
  classify = () => undefined,
  messageOf = messageIn,
  names = () => [],
  redactMessage = (message) => message,
  retryAfterMs = () => undefined,
  fallback,
}: NativeErrorMapping = {}): Adapter["readError"] => {
  return async (response, context) => {
    const { status, headers } = response;
    const body = await readErrorBody(response);
    const ownNames = names(context.target.upstream);
    const message = redactMessage(without(messageOf(body) ?? "", ownNames));
    const error = { status, message, body, headers };
    const meaning = classify(error) || undefined;
    if (!meaning && fallback) return fallback(replayBody(response, body), context);
    const fields = meaning ? toOpenaiFields(meaning, message) : byStatus(error);
    const mayWait = !meaning || retryableMeanings.has(meaning);
    return errorFieldsToGatewayError(
      { ...fields, retryAfterMs: mayWait ? retryAfterMs(error) : undefined },
      `status ${fields.status}`,
      context,
      headers,
    );
  };
};

/** `{retry_after: 5}`, in seconds. */
export function waitInBody({ body }: VendorError): number | undefined {
  const seconds = memberOf(body, "retry_after");
  return typeof seconds === "number" ? seconds * 1000 : undefined;
}

/**
 * An error inside a successful response, such as that of a failed operation. Without a meaning it is a failure of the
 * upstream. `headers`: of the response, if they may have the time to wait.
 */
export function toMappedError(
  meaning: ErrorMeaning | undefined,
  text: string | undefined,
  { query, target }: ImageRequestContext,
  headers?: UpstreamResponse["headers"],
): GatewayError {
  const context = { target, model: query.model };
  const fields = meaning && toOpenaiFields(meaning, text);
  if (fields)
    return errorFieldsToGatewayError(fields, "reported in its response", context, headers);
  const reason = text ? `: ${redact(text, context)}` : ".";
  return new GatewayError("upstream_error", `The upstream failed to generate the image${reason}`);
}

/** The message is passed on only if it is about the client's request: messages about the operator's account are not. */
function toOpenaiFields(meaning: ErrorMeaning, text: string | undefined): ErrorFields {
  const message = text || undefined;
  switch (meaning) {
    case "moderated":
      return { status: 400, code: "moderation_blocked", message };
    case "rejected":
      return { status: 400, message };
    case "no such model":
      return { status: 404, code: "model_not_found" };
    // A smaller request may succeed: the request is then split.
    case "too much at once":
      return { status: 400, code: "max_tokens_per_request", message };
    case "too many inputs":
      return { status: 413, message };
    case "no credit":
      return { status: 429, code: "insufficient_quota" };
    case "wrong key":
      return { status: 401 };
    case "forbidden":
      return { status: 403 };
    case "too fast":
      return { status: 429 };
    case "busy":
      return { status: 503 };
    case "timed out":
      return { status: 504 };
    case "wrong address":
      return { status: 404 };
  }
}

const byStatus = ({ status, message: text }: VendorError): ErrorFields =>
  requestErrorStatuses.has(status) ? { status, message: text || undefined } : { status };

/** Messages of other errors are about the operator's account and not for clients. */
const requestErrorStatuses: ReadonlySet<number> = new Set([400, 409, 413, 415, 422]);

/** Errors that a later retry may resolve. */
const retryableMeanings: ReadonlySet<ErrorMeaning> = new Set<ErrorMeaning>(["too fast", "busy"]);
