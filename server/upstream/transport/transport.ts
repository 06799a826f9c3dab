/** Step 12: the transport sends a request with the gateway's own HTTP client, or with `fetch` where that is needed. */
import type { UpstreamRequest, UpstreamResponse } from "../adapter.ts";
import type { TlsTrust } from "./connection.ts";
import { sendByFetch } from "./fetch-response.ts";
import { HttpClient } from "./http-client.ts";
import { KeepAliveTrust, type Unsolicited } from "./keep-alive-trust.ts";

/** Throws GatewayError. The response has a status and headers; its body is buffered or arrives in chunks. */
export type Send = (request: UpstreamRequest, signal: AbortSignal) => Promise<UpstreamResponse>;

export interface FetchOnly {
  readonly http: boolean;
  readonly https: boolean;
}

export interface TransportOptions {
  /** Maximum size of a response, after decompression. */
  readonly maxResponseBytes: number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  /** Which requests only `fetch` can send. */
  readonly fetchOnly: FetchOnly;
  readonly tls?: TlsTrust;
  /** Called if an upstream sent an unsolicited response. */
  readonly onUnsolicited?: (event: Unsolicited) => void;
}

export interface UpstreamTransport {
  readonly send: Send;
  /** Closes the idle connections. */
  close(): void;
}

export function createTransport(options: TransportOptions): UpstreamTransport {
  const { maxResponseBytes, clock, fetchOnly, tls, onUnsolicited } = options;
  const trust = new KeepAliveTrust({ clock, ...(onUnsolicited && { onUnsolicited }) });
  const client = new HttpClient({ maxResponseBytes, clock, trust, ...(tls && { tls }) });
  return {
    send: (request, signal) => {
      const needsFetch = request.url.startsWith("https://") ? fetchOnly.https : fetchOnly.http;
      return needsFetch || !HttpClient.carries(request)
        ? sendByFetch(request, signal, maxResponseBytes)
        : client.send(request, signal);
    },
    close: () => client.close(),
  };
}

/** Only `fetch` supports the environment's proxies and the setting that turns certificate verification off. */
export const needsFetch = (env: Readonly<Record<string, string | undefined>>): FetchOnly => ({
  http: Boolean(env.HTTP_PROXY || env.http_proxy),
  https: Boolean(env.HTTPS_PROXY || env.https_proxy) || env.NODE_TLS_REJECT_UNAUTHORIZED === "0",
});
