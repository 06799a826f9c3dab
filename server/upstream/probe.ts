/**
 * Upstream probe: sends a request that costs nothing, such as one for the list of models, to check that the upstream is
 * reachable and accepts the API key.
 */
import type { ErrorKind } from "../../contract/errors.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { Adapter, UpstreamResponse } from "./adapter.ts";
import { adapters } from "./adapters/index.ts";
import { messageIn, readErrorBody, redact, replayBody } from "./adapters/wire/error-body.ts";
import { openaiList } from "./connection-test/list-models.ts";
import type { Upstream } from "./contract.ts";
import type { CredentialCache } from "./credentials/credential-cache.ts";
import { describeCredentialError } from "./credentials/request-credential.ts";
import { kinds } from "./kinds.ts";
import type { SendUpstreamRequest } from "./transport/index.ts";

export interface Probe {
  readonly upstream: string;
  readonly ok: boolean;
  readonly detail: string;
  /** The response's status. Absent: no response, or a built-in model. */
  readonly status?: number;
}

export interface ProbeOptions {
  readonly send: SendUpstreamRequest;
  readonly credentials: CredentialCache;
  readonly timeoutMs: number;
}

export async function probe(
  upstream: Upstream,
  { send, credentials, timeoutMs }: ProbeOptions,
): Promise<Probe> {
  const { id, kind } = upstream;
  const adapter = adapters.get(kind);
  if (!adapter) return { upstream: id, ok: true, detail: "runs inside the gateway" };
  const request = (adapter.probe ?? adapter.models?.request ?? openaiList)(upstream);
  const address = upstream.baseUrl ?? kinds.get(kind)?.baseUrl ?? new URL(request.url).origin;
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const authenticated = await credentials.authenticate(request, adapter, upstream, signal);
    const response = await send(authenticated, signal);
    const { status } = response;
    return {
      upstream: id,
      status,
      ...(describeReachable(status) ?? (await describeFailure(response, adapter, upstream))),
    };
  } catch (error) {
    if (signal.aborted) {
      const detail = `no response within ${timeoutMs / 1000} s from ${address}. ${connectionAdvice}`;
      return { upstream: id, ok: false, detail };
    }
    if (error instanceof GatewayError) {
      const advice = error.kind === "upstream_unreachable" ? ` ${connectionAdvice}` : "";
      const detail = error.details.isAboutCredential
        ? describeCredentialError(error)
        : `${error.message} (${address})${advice}`;
      return { upstream: id, ok: false, detail };
    }
    throw error;
  }
}

const connectionAdvice =
  "Check the baseUrl of this upstream, that its server runs, and that this machine can connect to it (DNS, firewall, proxy).";

/** The upstream is reachable, whether or not it lists models for this API key. */
export const isReachable = ({ ok, status }: Probe): boolean =>
  ok || (status !== undefined && status < 500 && status !== 429);

type Description = Pick<Probe, "ok" | "detail">;

/** Undefined: the status shows a failure. */
function describeReachable(status: number): Description | undefined {
  // Not every compatible server lists its models; any response shows that it is reachable.
  if (status === 404 || status === 405) {
    return { ok: true, detail: `reachable, but has no list of models (status ${status})` };
  }
  return status === 200 ? { ok: true, detail: "reachable, and accepts the apiKey" } : undefined;
}

const maxMessageLength = 300;

/** The vendor's message, redacted and on one line, and what to do. */
async function describeFailure(
  response: UpstreamResponse,
  adapter: Adapter,
  upstream: Upstream,
): Promise<Description> {
  const { status } = response;
  const context = { target: { upstream, model: "" }, model: "" };
  const body = await readErrorBody(response);
  const { kind } = await adapter.readError(replayBody(response, body), context);
  const message = redact(messageIn(body) ?? "", context)
    .replace(/[\s\p{C}]+/gu, " ")
    .trim()
    .slice(0, maxMessageLength);
  const [problem, advice] = explainFailure(status, kind);
  const reported = message === "" ? "" : `: ${message.replace(/\.$/, "")}`;
  return { ok: false, detail: `${problem} (status ${status})${reported}. ${advice}` };
}

function explainFailure(
  status: number,
  kind: ErrorKind,
): readonly [problem: string, advice: string] {
  if (status === 401 || status === 403 || kind === "upstream_credentials") {
    return ["refuses the apiKey", "Check the apiKey of this upstream and its permissions."];
  }
  if (status >= 300 && status <= 399) {
    return ["redirects to another address", "Set the baseUrl of this upstream to that address."];
  }
  if (status === 429 || kind === "insufficient_quota") {
    return ["refuses more requests", "Try again later, or check the quota of the account."];
  }
  return status >= 500
    ? ["has an error", "Try again later, or check that baseUrl is the address of its API."]
    : ["refuses the request", "Check the baseUrl, the apiKey and the options of this upstream."];
}
