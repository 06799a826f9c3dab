/**
 * Token cache for upstreams with short-lived access tokens: one token for each upstream, fetched by single-flight and
 * renewed before it expires.
 */

import { GatewayError } from "../../lib/gateway-error.ts";
import { abortable } from "../../lib/tasks.ts";
import type { Adapter, TokenExchange, UpstreamRequest } from "../adapter.ts";
import type { Upstream } from "../contract.ts";
import type { SendUpstreamRequest } from "../transport/index.ts";

interface TokenCacheOptions {
  readonly send: SendUpstreamRequest;
  /** Unix milliseconds. */
  readonly now: () => number;
}

interface TokenCache {
  /** Adds the token or signature. Not needed for adapters that write a static API key themselves. */
  authenticate(
    request: UpstreamRequest,
    adapter: Adapter,
    upstream: Upstream,
    signal: AbortSignal,
  ): Promise<UpstreamRequest>;
  /** Evicts a token that the upstream rejected: the next request fetches another. */
  evict(upstream: Upstream, request: UpstreamRequest): void;
}

/** A token is renewed this long before it expires, or after nine tenths of its lifetime, whichever is later. */
const renewBeforeMs = 300_000;
/** Retry interval after a failed renewal, while the old token is still valid. */
const renewRetryMs = 10_000;
/** The exchange serves many requests, so it has its own timeout. */
const exchangeTimeoutMs = 20_000;

interface CachedToken {
  token?: string;
  renewAt: number;
  endsAt: number;
  pending?: Promise<string> | undefined;
}

export function createTokenCache({ send, now }: TokenCacheOptions): TokenCache {
  // Weak: when a reload removes an upstream, its token is collected.
  const cache = new WeakMap<Upstream, CachedToken>();

  const fetchToken = async (cached: CachedToken, exchange: TokenExchange, upstream: Upstream) => {
    const requestedAt = now();
    const { token, lastsMs } = await requestToken(exchange, upstream, requestedAt, send);
    cached.token = token;
    cached.endsAt = requestedAt + lastsMs;
    cached.renewAt = cached.endsAt - Math.min(renewBeforeMs, lastsMs / 10);
    return token;
  };

  const renew = (
    cached: CachedToken,
    exchange: TokenExchange,
    upstream: Upstream,
  ): Promise<string> => {
    if (cached.pending) return cached.pending;
    const pending = fetchToken(cached, exchange, upstream).finally(() => {
      cached.pending = undefined;
    });
    pending.catch(() => {
      cached.renewAt = now() + renewRetryMs;
    });
    cached.pending = pending;
    return pending;
  };

  const tokenFor = (exchange: TokenExchange, upstream: Upstream, signal: AbortSignal) => {
    let cached = cache.get(upstream);
    if (!cached) {
      cached = { renewAt: 0, endsAt: 0 };
      cache.set(upstream, cached);
    }
    const { token, renewAt, endsAt } = cached;
    const time = now();
    if (token === undefined || time >= endsAt)
      return abortable(renew(cached, exchange, upstream), signal);
    if (time >= renewAt) void renew(cached, exchange, upstream);
    return token;
  };

  return {
    authenticate: async (request, adapter, upstream, signal) => {
      const exchange = adapter.token?.(upstream);
      const token = exchange && (await tokenFor(exchange, upstream, signal));
      const withToken =
        token === undefined
          ? request
          : { ...request, headers: { authorization: `Bearer ${token}`, ...request.headers } };
      const streamed = typeof withToken.body === "object" ? adapter.signStreamed : undefined;
      return (streamed ?? adapter.sign)?.(withToken, upstream, now()) ?? withToken;
    },
    evict: (upstream, { headers }) => {
      const cached = cache.get(upstream);
      // Keep a newer token that was fetched in the meantime.
      if (cached && headers.authorization === `Bearer ${cached.token}`) delete cached.token;
    },
  };
}

async function requestToken(
  exchange: TokenExchange,
  upstream: Upstream,
  now: number,
  send: SendUpstreamRequest,
) {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(timeoutError()), exchangeTimeoutMs);
  try {
    const response = await send(exchange.toUpstream(upstream, now), timeout.signal);
    if (response.status < 200 || response.status > 299) throw rejectedError(response.status);
    return await exchange.fromUpstream(response);
  } catch (error) {
    throw error instanceof GatewayError ? asNotSent(error) : error;
  } finally {
    clearTimeout(timer);
  }
}

/** No request has reached the model yet, so nothing can be billed. */
const asNotSent = ({ kind: errorKind, message, details }: GatewayError): GatewayError =>
  errorKind === "upstream_invalid"
    ? new GatewayError("upstream_unreachable", noToken, { ...details, notSent: true })
    : new GatewayError(errorKind, message, { ...details, notSent: true });

const noToken = "The upstream's token service is unavailable. Retry later.";

const timeoutError = (): GatewayError =>
  new GatewayError("upstream_timeout", "The upstream's token service did not respond in time.");

const rejectedError = (status: number): GatewayError => {
  const logDetail = `token service: ${status}`;
  if (status === 429 || status >= 500)
    return new GatewayError("upstream_unreachable", noToken, { logDetail });
  const message =
    "The upstream refused the gateway's credentials. Ask the operator of this gateway to check them.";
  return new GatewayError("upstream_credentials", message, { logDetail });
};
