/**
 * Connection test of an upstream: which step of the connection fails and why, whether the credential is accepted, and
 * which models it serves. Without `paidRequest` it sends only requests that cost nothing.
 */
import type { ConnectionStep, ConnectionTest } from "../../../contract/admin.ts";
import { message } from "../../../contract/messages/message.ts";
import type { Message } from "../../../contract/messages/message-format.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { Adapter, UpstreamRequest, UpstreamResponse } from "../adapter.ts";
import { adapters } from "../adapters/index.ts";
import { messageIn, readErrorBody, redact, replayBody } from "../adapters/wire/error-body.ts";
import type { Upstream } from "../contract.ts";
import type { CredentialCache } from "../credentials/credential-cache.ts";
import type { SendUpstreamRequest } from "../transport/index.ts";
import {
  type ConnectionStepsOptions,
  type FoundMessage,
  messageOf,
  runConnectionSteps,
  stepOf,
} from "./connection-steps.ts";
import { type FreeRequest, freeRequest, validModelIds } from "./list-models.ts";

export interface TestConnectionOptions extends ConnectionStepsOptions {
  readonly send: SendUpstreamRequest;
  readonly credentials: CredentialCache;
  /** Requests go through a proxy of the environment, so the gateway makes no connection of its own. */
  readonly isProxied: (url: URL) => boolean;
  /** Sends one request that may be billed, and rejects if it fails. If absent, not permitted. */
  readonly paidRequest?: ((signal: AbortSignal) => Promise<unknown>) | undefined;
}

/** The models are ids without their kind. */
export type ConnectionTestResult = Omit<ConnectionTest, "models"> & {
  readonly models: readonly string[] | null;
};

export async function testConnection(
  upstream: Upstream,
  options: TestConnectionOptions,
): Promise<ConnectionTestResult> {
  const startedAt = options.clock();
  const end = (
    result: Pick<ConnectionTestResult, "steps" | "reachable" | "credential"> &
      Partial<ConnectionTestResult>,
  ): ConnectionTestResult => ({
    object: "connection_test",
    models: null,
    may_have_cost: false,
    ...result,
    duration_ms: Math.round(options.clock() - startedAt),
    problem: result.steps.find((step) => step.result === "failed")?.detail ?? null,
  });
  const adapter = adapters.get(upstream.kind);
  const free = freeRequest(upstream);
  if (!adapter || !free) {
    const steps = [stepOf("http", "passed", message("model_inside"))];
    return end({ steps, reachable: true, credential: "none" });
  }
  const url = new URL(free.request.url);
  const steps = options.isProxied(url)
    ? [stepOf("dns", "skipped", message("http_proxy"))]
    : await runConnectionSteps(url, options);
  if (steps.some(({ result }) => result === "failed")) {
    const later = [stepOf("http", "skipped"), stepOf("credential", "skipped")];
    return end({ steps: [...steps, ...later], reachable: false, credential: "unverified" });
  }
  const checked = await checkByHttp(upstream, adapter, free, options);
  const soFar = { ...checked, steps: [...steps, ...checked.steps] };
  if (!checked.reachable || checked.credential === "refused" || !options.paidRequest) {
    return end(soFar);
  }
  const paid = await checkByPaidRequest(options.paidRequest, options);
  return end({
    ...soFar,
    steps: [...soFar.steps.filter(({ step }) => step !== "credential"), paid.step],
    credential: paid.credential,
    may_have_cost: true,
  });
}

type Checked = Pick<ConnectionTestResult, "steps" | "reachable" | "credential" | "models">;

async function checkByHttp(
  upstream: Upstream,
  adapter: Adapter,
  free: FreeRequest,
  options: TestConnectionOptions,
): Promise<Checked> {
  const { request, modelIds } = free;
  const { send, credentials, timeoutMs, clock } = options;
  const startedAt = clock();
  const signal = AbortSignal.timeout(timeoutMs);
  const host = new URL(request.url).host;
  const took = () => Math.round(clock() - startedAt);
  let response: UpstreamResponse;
  try {
    const authenticated = await credentials.authenticate(request, adapter, upstream, signal);
    response = await send(authenticated, signal);
  } catch (error) {
    return notReached(error, signal, host, timeoutMs, took());
  }
  const { status } = response;
  const body = isSuccess(status) ? await readJson(response) : undefined;
  const missing = describeMissingList(free, adapter, status, body);
  if (missing) {
    const steps = [stepOf("http", "unknown", missing, took()), stepOf("credential", "skipped")];
    return { steps, reachable: true, credential: "unverified", models: null };
  }
  const refusal = isExpected(status) ? undefined : await readRefusal(response, adapter, upstream);
  if (refusal && !refusal.isAboutCredential) {
    const problem = statusProblem(status, host, refusal.message);
    const steps = [stepOf("http", "failed", problem, took()), stepOf("credential", "skipped")];
    return { steps, reachable: true, credential: "unverified", models: null };
  }
  const http = stepOf("http", "passed", message("http_status", { status }), took());
  const ids = modelIds(body);
  const models = ids ? validModelIds(ids) : null;
  const { credential, step } = refusal
    ? refusedCredential(upstream, status, refusal.message)
    : await checkCredential(upstream, adapter, options);
  return { steps: [http, step], reachable: true, credential, models };
}

/** A response that shows neither a right base URL nor a wrong one. `body`: undefined if it is no JSON. */
function describeMissingList(
  { request, isList, modelIds }: FreeRequest,
  adapter: Adapter,
  status: number,
  body: unknown,
): Message | undefined {
  if (!isList) return undefined;
  const values = { request: `${request.method ?? "GET"} ${new URL(request.url).pathname}`, status };
  if (hasNoList.has(status)) return message("http_no_list", values);
  // Any JSON of a vendor that has a list of its own is that list.
  const isModelList = body !== undefined && (adapter.models !== undefined || modelIds(body));
  return isSuccess(status) && !isModelList ? message("http_other_page", values) : undefined;
}

function notReached(
  error: unknown,
  signal: AbortSignal,
  host: string,
  timeoutMs: number,
  took: number,
): Checked {
  const shared = { models: null };
  if (signal.aborted) {
    const detail = message("http_timeout", { host, seconds: timeoutMs / 1000 });
    const steps = [stepOf("http", "failed", detail, took), stepOf("credential", "skipped")];
    return { ...shared, steps, reachable: false, credential: "unverified" };
  }
  if (!(error instanceof GatewayError)) throw error;
  const detail = credentialProblem(error);
  if (error.kind === "upstream_credentials") {
    // The token service of the vendor responded.
    const steps = [
      stepOf("http", "passed", undefined, took),
      stepOf("credential", "failed", detail),
    ];
    return { ...shared, steps, reachable: true, credential: "refused" };
  }
  const steps = [stepOf("http", "failed", detail, took), stepOf("credential", "skipped")];
  return { ...shared, steps, reachable: false, credential: "unverified" };
}

interface CredentialCheck {
  readonly credential: ConnectionTestResult["credential"];
  readonly step: ConnectionStep;
}

function refusedCredential(upstream: Upstream, status: number, reason: string): CredentialCheck {
  const detail = isAnonymous(upstream)
    ? message("credential_required", { status, message: reason })
    : message("credential_refused", { status, message: reason });
  return { credential: "refused", step: stepOf("credential", "failed", detail) };
}

/**
 * Some servers list their models without a credential. So the same request is sent again without it: only if the second
 * request is refused does the first one show that the credential is accepted.
 */
async function checkCredential(
  upstream: Upstream,
  adapter: Adapter,
  { send, timeoutMs }: TestConnectionOptions,
): Promise<CredentialCheck> {
  if (isAnonymous(upstream)) {
    return {
      credential: "none",
      step: stepOf("credential", "skipped", message("credential_none")),
    };
  }
  if (adapter.credential?.(upstream) && !adapter.sign) {
    const detail = message("credential_token_accepted");
    return { credential: "accepted", step: stepOf("credential", "passed", detail) };
  }
  const anonymousRequest = freeRequest(anonymous(upstream));
  const anonymousStatus =
    anonymousRequest && (await statusOf(anonymousRequest.request, send, timeoutMs));
  if (anonymousStatus === 401 || anonymousStatus === 403) {
    return {
      credential: "accepted",
      step: stepOf("credential", "passed", message("credential_accepted")),
    };
  }
  const detail = message("credential_unverified");
  return { credential: "unverified", step: stepOf("credential", "skipped", detail) };
}

async function checkByPaidRequest(
  paidRequest: NonNullable<TestConnectionOptions["paidRequest"]>,
  { timeoutMs, clock }: TestConnectionOptions,
): Promise<CredentialCheck> {
  const startedAt = clock();
  // An image takes longer than a connection.
  const signal = AbortSignal.timeout(4 * timeoutMs);
  const took = () => Math.round(clock() - startedAt);
  try {
    await paidRequest(signal);
    const detail = message("model_responded");
    return { credential: "accepted", step: stepOf("credential", "passed", detail, took()) };
  } catch (error) {
    if (!(error instanceof GatewayError) && !signal.aborted) throw error;
    const isRefused = error instanceof GatewayError && error.kind === "upstream_credentials";
    const detail =
      error instanceof GatewayError ? credentialProblem(error) : message("model_timeout");
    const credential = isRefused ? "refused" : "unverified";
    return { credential, step: stepOf("credential", "failed", detail, took()) };
  }
}

/** For operators, with the message of the token service. Clients get only the message of the error. */
function credentialProblem(error: GatewayError): FoundMessage {
  const { isAboutCredential, logDetail } = error.details;
  if (!isAboutCredential || !logDetail) return messageOf(error);
  const id = error.kind === "upstream_credentials" ? "token_refused" : "token_unavailable";
  return message(id, { reason: logDetail });
}

interface Refusal {
  readonly isAboutCredential: boolean;
  /** The vendor's message, redacted and on one line, after a colon. Empty: there is none. */
  readonly message: string;
}

const maxMessageLength = 300;

async function readRefusal(
  response: UpstreamResponse,
  adapter: Adapter,
  upstream: Upstream,
): Promise<Refusal> {
  const { status } = response;
  const context = { target: { upstream, model: "" }, model: "" };
  const body = await readErrorBody(response);
  // Gemini reports an invalid key with status 400.
  const { kind } = await adapter.readError(replayBody(response, body), context);
  const isAboutCredential = status === 401 || status === 403 || kind === "upstream_credentials";
  const message = redact(messageIn(body) ?? "", context)
    .replace(/[\s\p{C}]+/gu, " ")
    .trim()
    .slice(0, maxMessageLength)
    .replace(/\.$/, "");
  return { isAboutCredential, message: message === "" ? "" : `: ${message}` };
}

const statusOf = (
  request: UpstreamRequest,
  send: SendUpstreamRequest,
  timeoutMs: number,
): Promise<number | undefined> =>
  send(request, AbortSignal.timeout(timeoutMs)).then(
    ({ status }) => status,
    () => undefined,
  );

async function readJson(response: UpstreamResponse): Promise<unknown> {
  try {
    return await response.json();
  } catch (error) {
    // A page of HTML with status 200: the server lists no models.
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}

const secretOptions = ["secretAccessKey", "sessionToken", "serviceAccount", "privateKey", "auth"];

const anonymous = ({ apiKey: _, headers: __, options, ...upstream }: Upstream): Upstream => ({
  ...upstream,
  headers: {},
  options: Object.fromEntries(
    Object.entries(options).filter(([name]) => !secretOptions.includes(name)),
  ),
});

const isAnonymous = ({ apiKey, headers, options }: Upstream): boolean =>
  apiKey === undefined &&
  Object.keys(headers).length === 0 &&
  !secretOptions.some((name) => options[name] !== undefined);

const isSuccess = (status: number): boolean => status >= 200 && status <= 299;

/** Not every compatible server lists its models, and a server does not have a path that a wrong base URL names. */
const hasNoList: ReadonlySet<number> = new Set([404, 405, 501]);

/** 404 and 405 are a vendor's responses to a free request for something that does not exist. */
const isExpected = (status: number): boolean =>
  isSuccess(status) || status === 404 || status === 405;

function statusProblem(status: number, host: string, reason: string): Message {
  if (status >= 300 && status <= 399) {
    return message("http_redirect", { host, status });
  }
  if (status === 429) {
    return message("http_rate_limit", { host, message: reason });
  }
  return status >= 500
    ? message("http_error", { host, status, message: reason })
    : message("http_refused", { host, status, message: reason });
}
