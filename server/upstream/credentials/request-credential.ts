/** Sends a request to a token service or a metadata service. Errors name the service and its own message. */
import { GatewayError } from "../../lib/gateway-error.ts";
import { sleep, timeoutSignal } from "../../lib/timers.ts";
import type { CredentialContext, UpstreamRequest, UpstreamResponse } from "../adapter.ts";
import { memberOf } from "../adapters/wire/members.ts";
import { parseUpstreamJson } from "../upstream-json.ts";

const maxErrorBytes = 16 * 1024;
const maxDetailLength = 400;

/**
 * `service`: its name, for operators. `passing`: further statuses of a service that will respond later. Throws
 * GatewayError if the service refuses or fails.
 */
export async function requestCredential(
  { send, signal }: Pick<CredentialContext, "send" | "signal">,
  request: UpstreamRequest,
  service: string,
  passing: readonly number[] = [],
): Promise<UpstreamResponse> {
  const response = await send(request, signal);
  const { status } = response;
  if (status >= 200 && status <= 299) return response;
  throw await toRefusal(
    status,
    await response.text(maxErrorBytes).catch(() => ""),
    service,
    passing,
  );
}

/** The error for an error response. */
export async function toRefusal(
  status: number,
  text: string,
  service: string,
  passing: readonly number[] = [],
): Promise<GatewayError> {
  const message = await vendorMessage(text);
  const logDetail = `${service}: status ${status}${message && `, ${message}`}`;
  return status === 429 || status >= 500 || passing.includes(status)
    ? temporary(logDetail)
    : refused(logDetail);
}

/** Metadata services are on the same host: a response that takes longer than this does not come. */
export const metadataTimeoutMs = 2000;
/** They throttle each machine, and fail for moments while an identity is assigned. */
export const metadataDelaysMs = [200, 600];

export async function requestMetadata(
  context: CredentialContext,
  request: UpstreamRequest,
  service: string,
  passing?: readonly number[],
): Promise<UpstreamResponse> {
  for (const delayMs of metadataDelaysMs) {
    try {
      return await requestMetadataOnce(context, request, service, passing);
    } catch (error) {
      if (!(error instanceof GatewayError) || error.kind !== "upstream_unreachable") throw error;
    }
    await sleep(delayMs, context.signal);
  }
  return requestMetadataOnce(context, request, service, passing);
}

async function requestMetadataOnce(
  { sendToMetadata: send, signal }: CredentialContext,
  request: UpstreamRequest,
  service: string,
  passing?: readonly number[],
): Promise<UpstreamResponse> {
  using timeout = timeoutSignal(metadataTimeoutMs, () => noResponse(service), signal);
  return await requestCredential({ send, signal: timeout.signal }, request, service, passing);
}

const noResponse = (service: string): GatewayError =>
  new GatewayError("upstream_timeout", unavailable, { logDetail: `${service}: no response` });

export const unavailable = "The upstream's token service is unavailable. Retry later.";

export const temporary = (logDetail: string): GatewayError =>
  new GatewayError("upstream_unreachable", unavailable, { logDetail });

/** The operator has to change something. `logDetail` says what. */
export const refused = (logDetail: string): GatewayError =>
  new GatewayError(
    "upstream_credentials",
    "The upstream refused the gateway's credentials. Ask the operator of this gateway to check them.",
    { logDetail },
  );

/** OAuth's `{error, error_description}`, Google's `{error: {status, message}}`, or `{code, message}`. */
async function vendorMessage(text: string): Promise<string> {
  const body = await parseUpstreamJson(text).catch(() => undefined);
  const error = memberOf(body, "error");
  const parts = [
    [error, memberOf(body, "error_description")],
    [memberOf(error, "status"), memberOf(error, "message")],
    [memberOf(body, "code"), memberOf(body, "message")],
  ].map((pair) => pair.filter((part): part is string => typeof part === "string" && part !== ""));
  const longest = parts.toSorted((a, b) => b.length - a.length)[0] ?? [];
  return cleanDetail(longest.join(": "));
}

/** A service's own message as one line of the log, without tokens. */
export const cleanDetail = (text: string): string =>
  text
    .replace(/\beyJ[\w-]+(\.[\w-]*)*/g, "***")
    .replace(/[\s\p{C}]+/gu, " ")
    .trim()
    .slice(0, maxDetailLength);
