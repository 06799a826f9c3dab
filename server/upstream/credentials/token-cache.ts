/**
 * Token cache for upstreams with short-lived credentials: one token for each upstream, fetched by single-flight and
 * renewed before it expires.
 */

import { type AbortSignalLike, AbortSource } from "../../lib/abort-signal.ts";
import { abortable } from "../../lib/abortable.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { Adapter, TokenExchange, UpstreamRequest } from "../adapter.ts";
import type { Upstream } from "../contract.ts";
import type { Send } from "../transport/send.ts";

export interface TokenCacheOptions {
  readonly send: Send;
  /** Unix milliseconds. */
  readonly now: () => number;
}

export interface TokenCache {
  /** Adds the token or signature. Not needed for adapters that write a static API key themselves. */
  prove(
    request: UpstreamRequest,
    adapter: Adapter,
    upstream: Upstream,
    signal: AbortSignalLike,
  ): Promise<UpstreamRequest>;
  /** Evicts a token that the upstream rejected: the next request fetches another. */
  forget(upstream: Upstream, request: UpstreamRequest): void;
}

/** A token is renewed this long before it expires, or after nine tenths of its lifetime. */
const earlyMs = 300_000;
/** Retry interval after a failed renewal, while the old token is still valid. */
const pauseMs = 10_000;
/** The exchange serves many requests, so it has its own timeout. */
const patienceMs = 20_000;

interface Kept {
  token?: string;
  renewAt: number;
  endsAt: number;
  pending?: Promise<string> | undefined;
}

export function createTokenCache({ send, now }: TokenCacheOptions): TokenCache {
  // Weak: when a reload removes an upstream, its token is collected.
  const known = new WeakMap<Upstream, Kept>();

  const fetchToken = async (kept: Kept, exchange: TokenExchange, upstream: Upstream) => {
    const asked = now();
    const { token, lastsMs } = await ask(exchange, upstream, asked, send);
    kept.token = token;
    kept.endsAt = asked + lastsMs;
    kept.renewAt = kept.endsAt - Math.min(earlyMs, lastsMs / 10);
    return token;
  };

  const renew = (kept: Kept, exchange: TokenExchange, upstream: Upstream): Promise<string> => {
    if (kept.pending) return kept.pending;
    const pending = fetchToken(kept, exchange, upstream).finally(() => {
      kept.pending = undefined;
    });
    pending.catch(() => {
      kept.renewAt = now() + pauseMs;
    });
    kept.pending = pending;
    return pending;
  };

  const tokenFor = (exchange: TokenExchange, upstream: Upstream, signal: AbortSignalLike) => {
    let kept = known.get(upstream);
    if (!kept) {
      kept = { renewAt: 0, endsAt: 0 };
      known.set(upstream, kept);
    }
    const { token, renewAt, endsAt } = kept;
    const time = now();
    if (token === undefined || time >= endsAt)
      return abortable(renew(kept, exchange, upstream), signal);
    if (time >= renewAt) void renew(kept, exchange, upstream);
    return token;
  };

  return {
    prove: async (request, adapter, upstream, signal) => {
      const exchange = adapter.token?.(upstream);
      const token = exchange && (await tokenFor(exchange, upstream, signal));
      const bearing =
        token === undefined
          ? request
          : { ...request, headers: { authorization: `Bearer ${token}`, ...request.headers } };
      const streamed = typeof bearing.body === "object" ? adapter.signStreamed : undefined;
      return (streamed ?? adapter.sign)?.(bearing, upstream, now()) ?? bearing;
    },
    forget: (upstream, { headers }) => {
      const kept = known.get(upstream);
      // Keep a newer token that was fetched in the meantime.
      if (kept && headers.authorization === `Bearer ${kept.token}`) delete kept.token;
    },
  };
}

async function ask(exchange: TokenExchange, upstream: Upstream, now: number, send: Send) {
  const patience = new AbortSource();
  const timer = setTimeout(() => patience.abort(late()), patienceMs);
  try {
    const reply = await send(exchange.toUpstream(upstream, now), patience);
    if (reply.status < 200 || reply.status > 299) throw refused(reply.status);
    return await exchange.fromUpstream(reply);
  } catch (error) {
    throw error instanceof GatewayError ? unsent(error) : error;
  } finally {
    clearTimeout(timer);
  }
}

/** No request has reached the model yet, so nothing can be billed. */
const unsent = ({ kind: fault, message, details }: GatewayError): GatewayError =>
  fault === "upstream_invalid"
    ? new GatewayError("upstream_unreachable", noToken, { ...details, notSent: true })
    : new GatewayError(fault, message, { ...details, notSent: true });

const noToken = "The upstream's token service gives no tokens at the moment.";

const late = (): GatewayError =>
  new GatewayError("upstream_timeout", "The upstream's token service did not answer in time.");

const refused = (status: number): GatewayError => {
  const logged = `token service: ${status}`;
  if (status === 429 || status >= 500)
    return new GatewayError("upstream_unreachable", noToken, { logDetail: logged });
  const words =
    "The upstream refused the gateway's credentials. Ask the operator of this gateway to check them.";
  return new GatewayError("upstream_credentials", words, { logDetail: logged });
};
