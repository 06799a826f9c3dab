/**
 * Maps upstream errors, of OpenAI-compatible APIs, to gateway errors (rate limit, quota, content filter) that keep the
 * meaning and leak nothing, and parses their `retry-after` headers.
 */
import type { ErrorKind } from "../../../../contract/errors.ts";
import { GatewayError } from "../../../lib/gateway-error.ts";
import type { ErrorContext, UpstreamResponse } from "../../adapter.ts";
import { isInputTooLong, rejectedInputIndex } from "../../rejected-input.ts";
import { messageIn, readErrorBody, redact } from "./error-body.ts";
import { asObject } from "./members.ts";
import { rateLimitResetMs } from "./rate-limit-reset.ts";

/** An error in OpenAI's fields, whichever vendor it is from. */
export interface ErrorFields {
  /** The status that OpenAI would have used. */
  readonly status: number;
  /** Only if it is about the client's request. */
  readonly message?: string | undefined;
  readonly code?: string | undefined;
  /** The time to wait, if the body has it. A header overrides it. */
  readonly retryAfterMs?: number | undefined;
}

interface ReportedError {
  readonly message?: string;
  readonly type?: string;
  readonly code?: string;
  readonly param?: string;
  readonly extra: Readonly<Record<string, unknown>>;
}

export async function readOpenaiError(
  response: UpstreamResponse,
  context: ErrorContext,
): Promise<GatewayError> {
  const { status, headers } = response;
  const reported = readReportedError(await readErrorBody(response), context);
  const wait = retryAfterMs(headers) ?? (status === 429 ? rateLimitResetMs(headers) : undefined);
  const uncharged =
    status === 500 && reported.type === "server_error" && isBilledOnlyOnSuccess(context);
  return toError(context, status, reported, `status ${status}`, wait, uncharged);
}

/**
 * Vendors that bill only successful requests: OpenAI (help.openai.com/en/articles/6582257), Azure OpenAI (requests that
 * end with 200 or 400, learn.microsoft.com/answers/questions/1632971). The error type shows that the vendor itself
 * failed: a 500 of a proxy in front of it has another body, and the work behind it may have been done.
 */
const billsOnlySuccess: ReadonlySet<string> = new Set(["openai", "azure"]);
const isBilledOnlyOnSuccess = ({ target }: ErrorContext): boolean =>
  billsOnlySuccess.has(target.upstream.kind);

/** `evidence`: how the error is known, for the message. `headers`: of an error response. */
export function errorFieldsToGatewayError(
  { status, message, code, retryAfterMs: wait }: ErrorFields,
  evidence: string,
  context: ErrorContext,
  headers?: UpstreamResponse["headers"],
): GatewayError {
  const reported = {
    ...(message !== undefined && { message: redact(message, context) }),
    ...(code !== undefined && { code }),
    extra: {},
  };
  const headerWaitMs = headers && retryAfterMs(headers);
  return toError(
    context,
    status,
    reported,
    evidence,
    headerWaitMs ?? (wait === undefined ? undefined : bounded(wait)),
  );
}

/** An error inside a stream has no status: it is derived from its type and code. */
export function readStreamError(body: unknown, context: ErrorContext): GatewayError {
  const reported = readReportedError(body, context);
  return toError(context, statusOf(reported), reported, "reported in its stream");
}

/** The status that the type or code implies. Undefined if they imply none. */
export function statusInBody(body: unknown): number | undefined {
  const error = asObject(asObject(body)?.error) ?? asObject(body);
  const [type, code] = [error?.type, error?.code].map((member) =>
    typeof member === "string" ? member : "",
  );
  if (/authentication_error|invalid_api_key/.test(`${type} ${code}`)) return 401;
  if (code === "model_not_found") return 404;
  const status = statusOf({ extra: {}, type: type ?? "", code: code ?? "" });
  return status === 500 ? undefined : status;
}

function toError(
  context: ErrorContext,
  status: number,
  reported: ReportedError,
  evidence: string,
  wait?: number,
  uncharged = false,
): GatewayError {
  const errorKind = isTooLong(status, reported)
    ? "context_length_exceeded"
    : kindOfErrorResponse(status, reported);
  const details = {
    ...(wait !== undefined && { retryAfterMs: wait }),
    ...(errorKind === "upstream_error" &&
      notFoundStatuses.has(status) && { notExecuted: true as const }),
    ...(errorKind === "upstream_error" && uncharged && { notBilled: true as const }),
    overrides: errorKind === "upstream_rejected" ? { status } : {},
    ...(reported.code !== undefined && { vendorCode: reported.code }),
    ...(reported.message !== undefined && { vendorMessage: reported.message }),
  };
  if (!isAboutRequest(errorKind) || reported.message === undefined) {
    return new GatewayError(errorKind, gatewayMessage(errorKind, evidence, context), details);
  }
  const inputIndex =
    reported.param === undefined ? rejectedInputIndex(reported.message) : undefined;
  const param = inputIndex === undefined ? reported.param : `input[${inputIndex}]`;
  const about = { ...details, ...(param !== undefined && { param }) };
  // OpenAI's type and code, because vendors have many.
  if (errorKind === "context_length_exceeded") {
    return new GatewayError(errorKind, reported.message, about);
  }
  return new GatewayError(errorKind, reported.message, {
    ...about,
    overrides: {
      ...details.overrides,
      ...(reported.type !== undefined && { type: reported.type }),
      ...(reported.code !== undefined && { code: reported.code }),
    },
    extra: reported.extra,
  });
}

/** llama.cpp answers 500, as if it had failed itself. */
const tooLongStatuses: ReadonlySet<number> = new Set([400, 413, 422, 500]);

const isTooLong = (status: number, { code, message }: ReportedError): boolean =>
  tooLongStatuses.has(status) &&
  code !== "max_tokens_per_request" &&
  message !== undefined &&
  isInputTooLong(message);

/** Not found, method not allowed, gone, not implemented: the request did not reach a model. */
const notFoundStatuses: ReadonlySet<number> = new Set([404, 405, 410, 501]);

function statusOf({ type = "", code = "" }: ReportedError): number {
  if (/rate_limit|slow_down|insufficient_quota/.test(`${type} ${code}`)) return 429;
  if (quotaCodes.has(code)) return 429;
  if (/invalid_request_error|user_error/.test(type)) return 400;
  return code === "server_is_overloaded" ? 503 : 500;
}

function kindOfErrorResponse(status: number, { code, type }: ReportedError): ErrorKind {
  if (code === "moderation_blocked" || code === "content_policy_violation") {
    return "moderation_blocked";
  }
  // Azure's code for the same error.
  if (code === "content_filter" || code === "contentFilter") return "moderation_blocked";
  if (code === "billing_hard_limit_reached") return "billing_hard_limit_reached";
  if (type === "insufficient_quota" || quotaCodes.has(code ?? "")) return "insufficient_quota";
  if (code === "max_tokens_per_request") return "max_tokens_per_request";
  switch (status) {
    case 400:
    case 409:
    case 413:
    case 415:
    case 422:
      return "upstream_rejected";
    case 401:
    case 407:
      return "upstream_credentials";
    case 402:
      return "insufficient_quota";
    case 403:
      return "upstream_forbidden";
    case 404:
      return code === "model_not_found" || code === "DeploymentNotFound"
        ? "model_not_found"
        : "upstream_error";
    case 408:
    case 504:
      return "upstream_timeout";
    case 429:
      return code === "slow_down" ? "slow_down" : "upstream_rate_limit";
    case 503:
    case 529:
      return "upstream_overloaded";
    default:
      return "upstream_error";
  }
}

const quotaCodes = new Set([
  "insufficient_quota",
  "credit_balance_exhausted",
  "organization_spend_limit_exceeded",
  "project_spend_limit_exceeded",
  "organization_usage_limit_exceeded",
]);

/** Errors about the client's request keep the upstream's message; errors about the gateway's configuration do not. */
const isAboutRequest = (errorKind: ErrorKind): boolean =>
  [
    "upstream_rejected",
    "context_length_exceeded",
    "upstream_forbidden",
    "moderation_blocked",
    "billing_hard_limit_reached",
    "max_tokens_per_request",
    "upstream_rate_limit",
    "slow_down",
    "insufficient_quota",
  ].includes(errorKind);

function gatewayMessage(errorKind: ErrorKind, evidence: string, { target }: ErrorContext): string {
  switch (errorKind) {
    case "upstream_rejected":
      return `The upstream refused the request as invalid (${evidence}).`;
    case "upstream_forbidden":
      return `The upstream does not let this gateway use the model (${evidence}).`;
    case "moderation_blocked":
      return "The upstream's safety system refused the request.";
    case "upstream_rate_limit":
    case "slow_down":
      return "The upstream's rate limit is reached. Please retry your request after a brief delay.";
    case "insufficient_quota":
    case "billing_hard_limit_reached":
      return "The upstream account has no credit left. Ask the operator of this gateway to check its billing.";
    case "upstream_credentials":
      return `The upstream refused the gateway's credentials. Ask the operator of this gateway to check the upstream's ${target.upstream.apiKey === undefined ? "credentials" : "apiKey"}.`;
    case "model_not_found":
      return "The upstream has no model with the name that is configured for this model. Ask the operator of this gateway to check the model's target.";
    case "upstream_overloaded":
      return "The model is temporarily overloaded. Please retry your request after a brief delay.";
    case "upstream_timeout":
      return `The upstream timed out (${evidence}).`;
    default:
      return `The upstream failed (${evidence}).`;
  }
}

function readReportedError(response: unknown, context: ErrorContext): ReportedError {
  const body = asObject(response);
  const error = asObject(body?.error) ?? body;
  const message = messageIn(response);
  if (!error) return { extra: {} };
  const { moderation_details } = error;
  const member = (name: "type" | "code" | "param") =>
    textMember(name, error[name], (text) => redact(text, context));
  return {
    ...(message !== undefined && { message: redact(message, context) }),
    ...member("type"),
    ...member("code"),
    ...member("param"),
    extra: moderation_details === undefined ? {} : { moderation_details },
  };
}

const textMember = <N extends string>(name: N, value: unknown, safe: (text: string) => string) =>
  typeof value === "string" && value !== "" ? { [name]: safe(value.slice(0, 200)) } : {};

/** A longer wait is not a useful hint. The bound also keeps the number short enough for a header. */
const maxWaitMs = 24 * 3600 * 1000;

/** Azure sends milliseconds; others seconds or a date. */
function retryAfterMs(headers: UpstreamResponse["headers"]): number | undefined {
  const wait = waitIn(headers.get("retry-after-ms") || undefined, headers);
  return wait === undefined ? undefined : bounded(wait);
}

const bounded = (wait: number): number => Math.min(Math.max(0, wait), maxWaitMs);

function waitIn(
  precise: string | undefined,
  headers: UpstreamResponse["headers"],
): number | undefined {
  if (precise !== undefined && Number.isFinite(Number(precise))) return Number(precise);
  const given = headers.get("retry-after");
  if (given === null || given === "") return undefined;
  const seconds = Number(given);
  if (Number.isFinite(seconds)) return seconds * 1000;
  // Relative to the response's own date, so that the two clocks need not agree.
  const wait = Date.parse(given) - Date.parse(headers.get("date") ?? "");
  return Number.isNaN(wait) ? undefined : wait;
}
