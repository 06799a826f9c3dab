/** Free health check of an upstream: whether it responds to the free request of the connection test. */
import { GatewayError } from "../../lib/gateway-error.ts";
import { adapters } from "../adapters/index.ts";
import type { Upstream } from "../contract.ts";
import type { CredentialCache } from "../credentials/credential-cache.ts";
import type { SendUpstreamRequest } from "../transport/index.ts";
import { freeRequest } from "./list-models.ts";

interface HealthCheckOptions {
  readonly send: SendUpstreamRequest;
  readonly credentials: CredentialCache;
}

const timeoutMs = 5000;

/** A refusal also shows that the upstream works, unless it is overloaded. 501: the server has no such request. */
export async function isReachable(
  upstream: Upstream,
  { send, credentials }: HealthCheckOptions,
): Promise<boolean> {
  const adapter = adapters.get(upstream.kind);
  const free = freeRequest(upstream);
  if (!adapter || !free) return true;
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const request = await credentials.authenticate(free.request, adapter, upstream, signal);
    const { status } = await send(request, signal);
    return (status < 500 && status !== 429) || status === 501;
  } catch (error) {
    if (error instanceof GatewayError || signal.aborted) return false;
    throw error;
  }
}
