/**
 * Upstream probe (active health check): sends a request that costs nothing, such as one for the list of models, to
 * check that the upstream is reachable and accepts the API key.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import { adapters } from "./adapters/index.ts";
import { openaiList } from "./connection-test/list-models.ts";
import type { Upstream } from "./contract.ts";
import { createTokenCache } from "./credentials/token-cache.ts";
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
  readonly timeoutMs: number;
  /** Unix milliseconds. */
  readonly now: () => number;
}

export async function probe(
  upstream: Upstream,
  { send, timeoutMs, now }: ProbeOptions,
): Promise<Probe> {
  const { id, kind } = upstream;
  const adapter = adapters.get(kind);
  if (!adapter) return { upstream: id, ok: true, detail: "runs inside the gateway" };
  const request = (adapter.probe ?? adapter.models?.request ?? openaiList)(upstream);
  const address = upstream.baseUrl ?? kinds.get(kind)?.baseUrl ?? new URL(request.url).origin;
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const authenticated = await createTokenCache({ send, now }).authenticate(
      request,
      adapter,
      upstream,
      signal,
    );
    const { status } = await send(authenticated, signal);
    return { upstream: id, status, ...describeStatus(status) };
  } catch (error) {
    if (signal.aborted) {
      const detail = `no response within ${timeoutMs / 1000} s from ${address}`;
      return { upstream: id, ok: false, detail };
    }
    if (error instanceof GatewayError) {
      return { upstream: id, ok: false, detail: `${error.message} (${address})` };
    }
    throw error;
  }
}

/** The upstream is reachable, whether or not it lists models for this API key. */
export const isReachable = ({ ok, status }: Probe): boolean =>
  ok || (status !== undefined && status < 500 && status !== 429);

function describeStatus(status: number): Pick<Probe, "ok" | "detail"> {
  if (status === 401 || status === 403) {
    return { ok: false, detail: `refuses the apiKey (status ${status})` };
  }
  // Not every compatible server lists its models; any response shows that it is reachable.
  if (status === 404 || status === 405) {
    return { ok: true, detail: `reachable, but has no list of models (status ${status})` };
  }
  return status === 200
    ? { ok: true, detail: "reachable, and accepts the apiKey" }
    : { ok: false, detail: `status ${status}` };
}
