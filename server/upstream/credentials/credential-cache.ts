/**
 * Credential cache for upstreams with short-lived tokens or keys: one credential for each upstream, fetched by
 * single-flight and renewed before it expires.
 */

import type { ErrorKind } from "../../../contract/errors.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { abortable } from "../../lib/tasks.ts";
import { timeoutSignal } from "../../lib/timers.ts";
import type {
  Adapter,
  AwsKeys,
  Credential,
  Environment,
  Issued,
  UpstreamRequest,
} from "../adapter.ts";
import type { Upstream } from "../contract.ts";
import type { SendUpstreamRequest } from "../transport/index.ts";
import { unavailable } from "./request-credential.ts";

interface CredentialCacheOptions {
  readonly send: SendUpstreamRequest;
  /** The default is `send`. A connection test guards `send` against metadata services. */
  readonly sendToMetadata?: SendUpstreamRequest;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly env: Environment;
}

/** A credential is renewed this long before it expires, or after nine tenths of its lifetime, whichever is later. */
const renewBeforeMs = 300_000;
/** Retry interval after a failed renewal, while the old credential is still valid. */
const renewRetryMs = 10_000;
/**
 * A younger credential that is only not permitted to do something is not replaced: that of a role without a permission
 * would be fetched for every request.
 */
const minAgeMs = 30_000;
/** The fetch serves many requests, so it has its own timeout. */
const fetchTimeoutMs = 20_000;

interface CachedCredential {
  readonly credential: Credential;
  value?: string | AwsKeys;
  headers?: Issued<string>["headers"];
  issuedAt: number;
  renewAt: number;
  endsAt: number;
  pending?: Promise<string | AwsKeys> | undefined;
}

export type CredentialCache = ReturnType<typeof createCredentialCache>;

export function createCredentialCache(options: CredentialCacheOptions) {
  const { now } = options;
  // Weak: when a reload removes an upstream, its credential is collected.
  const cache = new WeakMap<Upstream, CachedCredential>();

  const fetchCredential = async (cached: CachedCredential) => {
    const requestedAt = now();
    const issued = await fetchInTime(cached.credential, options);
    const { value, headers, lastsMs = Number.POSITIVE_INFINITY } = issued;
    cached.value = value;
    cached.headers = headers;
    cached.issuedAt = requestedAt;
    cached.endsAt = requestedAt + lastsMs;
    cached.renewAt = cached.endsAt - Math.min(renewBeforeMs, lastsMs / 10);
    return value;
  };

  const renew = (cached: CachedCredential): Promise<string | AwsKeys> => {
    if (cached.pending) return cached.pending;
    const pending = fetchCredential(cached).finally(() => {
      cached.pending = undefined;
    });
    pending.catch(() => {
      cached.renewAt = now() + renewRetryMs;
    });
    cached.pending = pending;
    return pending;
  };

  const currentValue = (cached: CachedCredential, signal: AbortSignal) => {
    const { value, renewAt, endsAt } = cached;
    const time = now();
    if (value === undefined || time >= endsAt) return abortable(renew(cached), signal);
    if (time >= renewAt) void renew(cached);
    return value;
  };

  const cachedFor = (adapter: Adapter, upstream: Upstream): CachedCredential | undefined => {
    const cached = cache.get(upstream);
    if (cached) return cached;
    const credential = adapter.credential?.(upstream);
    if (!credential) return undefined;
    const created = { credential, issuedAt: 0, renewAt: 0, endsAt: 0 };
    cache.set(upstream, created);
    return created;
  };

  return {
    /** Adds the token or signature. Not needed for adapters that write a static API key themselves. */
    authenticate: async (
      request: UpstreamRequest,
      adapter: Adapter,
      upstream: Upstream,
      signal: AbortSignal,
    ): Promise<UpstreamRequest> => {
      const cached = cachedFor(adapter, upstream);
      const value = cached && (await currentValue(cached, signal));
      const withToken =
        typeof value === "string"
          ? {
              ...request,
              headers: {
                authorization: `Bearer ${value}`,
                ...cached?.headers?.(request),
                ...request.headers,
              },
            }
          : request;
      const signer =
        typeof value === "object"
          ? { ...upstream, options: { ...upstream.options, ...value } }
          : upstream;
      const streamed = typeof withToken.body === "object" ? adapter.signStreamed : undefined;
      return (streamed ?? adapter.sign)?.(withToken, signer, now()) ?? withToken;
    },
    /**
     * Whether a request that was refused may succeed with another credential, which `authenticate` then adds. A
     * temporary credential may end early. One that only lacks a permission serves the other requests until its
     * replacement is there: the token service may be down.
     */
    mayReplace: async (
      upstream: Upstream,
      { headers: { authorization = "" } }: UpstreamRequest,
      refusal: ErrorKind,
      signal: AbortSignal,
    ): Promise<boolean> => {
      const cached = cache.get(upstream);
      if (!cached) return false;
      // A newer one was fetched in the meantime.
      if (cached.value === undefined || !isFor(authorization, cached.value)) return true;
      if (refusal === "upstream_credentials") {
        delete cached.value;
        return true;
      }
      if (now() < cached.issuedAt + minAgeMs) return false;
      return abortable(renew(cached), signal).then(
        () => true,
        () => false,
      );
    },
  };
}

const isFor = (authorization: string, value: string | AwsKeys): boolean =>
  typeof value === "string"
    ? authorization === `Bearer ${value}`
    : authorization.includes(` Credential=${value.accessKeyId}/`);

async function fetchInTime(
  credential: Credential,
  { send, sendToMetadata = send, now, env }: CredentialCacheOptions,
): Promise<Awaited<ReturnType<Credential["issue"]>>> {
  using timeout = timeoutSignal(fetchTimeoutMs, timeoutError);
  try {
    return await abortable(
      credential.issue({ send, sendToMetadata, now, env, signal: timeout.signal }),
      timeout.signal,
    );
  } catch (error) {
    throw error instanceof GatewayError ? asNotSent(error) : error;
  }
}

/** No request has reached the model yet, so nothing can be billed. */
const asNotSent = ({ kind: errorKind, message, details }: GatewayError): GatewayError => {
  const marked = { ...details, notSent: true, isAboutCredential: true } as const;
  return errorKind === "upstream_invalid"
    ? new GatewayError("upstream_unreachable", unavailable, marked)
    : new GatewayError(errorKind, message, marked);
};

const timeoutError = (): GatewayError =>
  new GatewayError("upstream_timeout", "The upstream's token service did not respond in time.");
