/** What an OpenAI-shaped upstream says when it fails, read into a fault that keeps its meaning and leaks nothing. */
import type { FaultName } from "../../../contract/faults.ts";
import { GatewayError } from "../../std/gateway-error.ts";
import type { FaultContext, WireReply } from "../adapter.ts";

/** An error page may be long; its beginning is enough to tell what it is. */
const maxErrorBytes = 64 * 1024;

interface Said {
  readonly message?: string;
  readonly type?: string;
  readonly code?: string;
  readonly param?: string;
  readonly extra: Readonly<Record<string, unknown>>;
}

export async function readFault(reply: WireReply, context: FaultContext): Promise<GatewayError> {
  const said = readSaid(parseJson(await reply.text(maxErrorBytes).catch(() => "")), context);
  return toFault(faultOf(reply.status, said), said, reply.status, retryAfterMs(reply.headers));
}

/** An error inside a stream has no status; its type tells a refusal from a breakdown. */
export function readStreamFault(body: unknown, context: FaultContext): GatewayError {
  const said = readSaid(body, context);
  const status = /invalid_request_error|user_error/.test(said.type ?? "") ? 400 : 500;
  return toFault(faultOf(status, said), said, status, undefined);
}

function toFault(
  fault: FaultName,
  said: Said,
  status: number,
  wait: number | undefined,
): GatewayError {
  const retry = wait !== undefined && { retryAfterMs: wait };
  if (!speaksToCaller(fault) || said.message === undefined) {
    return new GatewayError(fault, ownWords(fault, status), { ...retry });
  }
  return new GatewayError(fault, said.message, {
    ...retry,
    ...(said.param !== undefined && { param: said.param }),
    as: {
      ...(fault === "upstream_rejected" && { status }),
      ...(said.type !== undefined && { type: said.type }),
      ...(said.code !== undefined && { code: said.code }),
    },
    extra: said.extra,
  });
}

function faultOf(status: number, { code, type }: Said): FaultName {
  if (code === "moderation_blocked" || code === "content_policy_violation") {
    return "moderation_blocked";
  }
  // Azure's name for the same.
  if (code === "content_filter" || code === "contentFilter") return "moderation_blocked";
  if (code === "billing_hard_limit_reached") return "billing_hard_limit_reached";
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
      if (type === "insufficient_quota" || quotaCodes.has(code ?? "")) return "insufficient_quota";
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

/** Faults of the caller's request keep the upstream's words; faults of our side of the house do not. */
const speaksToCaller = (fault: FaultName): boolean =>
  [
    "upstream_rejected",
    "upstream_forbidden",
    "moderation_blocked",
    "billing_hard_limit_reached",
    "upstream_rate_limit",
    "slow_down",
    "insufficient_quota",
  ].includes(fault);

function ownWords(fault: FaultName, status: number): string {
  switch (fault) {
    case "upstream_credentials":
      return "The upstream refused the gateway's credentials. Ask the operator of this gateway to check the upstream's apiKey.";
    case "model_not_found":
      return "The upstream behind this model does not know it. Ask the operator of this gateway to check the model's target.";
    case "upstream_overloaded":
      return "The model is temporarily overloaded. Please retry your request after a brief delay.";
    case "upstream_timeout":
      return `The upstream gave up waiting (it answered ${status}).`;
    default:
      return `The upstream failed (it answered ${status}).`;
  }
}

/** OpenAI's `{error: {…}}`; also `{message}`, `{detail}` and `{error: "…"}` of servers that are nearly alike. */
function readSaid(answer: unknown, context: FaultContext): Said {
  const body = asObject(answer);
  const error = asObject(body?.error) ?? body;
  const message = [error?.message, body?.error, error?.detail].find(
    (words) => typeof words === "string" && words !== "",
  );
  if (!error || typeof message !== "string") return { extra: {} };
  const { moderation_details } = error;
  return {
    message: clean(message, context),
    ...textMember("type", error.type),
    ...textMember("code", typeof error.code === "number" ? undefined : error.code),
    ...textMember("param", error.param),
    extra: moderation_details === undefined ? {} : { moderation_details },
  };
}

const textMember = <N extends "type" | "code" | "param">(name: N, value: unknown) =>
  typeof value === "string" && value !== "" ? { [name]: value.slice(0, 200) } : {};

const asObject = (value: unknown): Record<string, unknown> | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Names of the account behind the gateway, its keys and its own model names are nobody's business. */
function clean(message: string, { target, model }: FaultContext): string {
  const { apiKey } = target.upstream;
  let words = message.slice(0, 2000);
  if (apiKey) words = words.replaceAll(apiKey, "***");
  if (target.model !== model) words = words.replaceAll(target.model, model);
  return words
    .replace(/\b(sk|pk|key)-[A-Za-z0-9_*-]{4,}/g, "***")
    .replace(/\b(org|proj|user|acct)[-_][A-Za-z0-9]{6,}/g, "$1-***")
    .replace(/https?:\/\/[^\s"')]+/g, (link) => (isPublicLink(link) ? link : "(link)"));
}

/** Links into a vendor's manual help; links to hosts of the operator's network do not belong to callers. */
const isPublicLink = (link: string): boolean =>
  /^https:\/\/([a-z0-9-]+\.)*(openai\.com|microsoft\.com|aka\.ms)\b/.test(link);

/** Azure sends milliseconds; others seconds or a date. */
export function retryAfterMs(headers: Headers): number | undefined {
  const precise = Number(headers.get("retry-after-ms") ?? Number.NaN);
  if (Number.isFinite(precise) && precise >= 0) return precise;
  const given = headers.get("retry-after");
  if (given === null || given === "") return undefined;
  const seconds = Number(given);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(given);
  // The answer's own clock, so that ours need not agree with it.
  const now = Date.parse(headers.get("date") ?? "");
  return Number.isNaN(date) || Number.isNaN(now) ? undefined : Math.max(0, date - now);
}
