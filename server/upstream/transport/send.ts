/** Step 12: sends a request with `fetch`, or with the gateway's own HTTP client where that supports it. */
import type { UpstreamRequest, UpstreamResponse } from "../adapter.ts";
import { BufferedResponse } from "./buffered-response.ts";
import type { TlsTrust } from "./connection.ts";
import { ReusableSockets } from "./connection-reuse.ts";
import { sendByFetch } from "./fetch-response.ts";
import { HttpClient } from "./http-client.ts";
import { KeepAliveTrust, type Unsolicited } from "./keep-alive-trust.ts";
import type { ResponseParser } from "./parse-response.ts";
import { sendStreaming, usesStreamingCall } from "./streamed-response.ts";
import { toTransportError } from "./transport-error.ts";

export type Send = (request: UpstreamRequest, signal: AbortSignal) => Promise<UpstreamResponse>;

export interface FetchOnly {
  readonly http: boolean;
  readonly https: boolean;
}

export interface SendOptions {
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

export interface Sender {
  readonly send: Send;
  /** Closes the idle connections. */
  close(): void;
}

export function createSend(options: SendOptions): Sender {
  const { maxResponseBytes, clock, fetchOnly, tls, onUnsolicited } = options;
  const trust = new KeepAliveTrust({ clock, ...(onUnsolicited && { onUnsolicited }) });
  const client = new HttpClient({ maxResponseBytes, clock, trust, ...(tls && { tls }) });
  const sockets = new ReusableSockets(trust);

  const take = (response: ResponseParser): UpstreamResponse =>
    new BufferedResponse(response, maxResponseBytes);
  const send: Send = (request, signal) => {
    if (request.url.startsWith("https://") ? fetchOnly.https : fetchOnly.http) {
      return sendByFetch(request, signal, maxResponseBytes);
    }
    if (HttpClient.carries(request)) {
      return client.send(request, signal, take, (error) =>
        toTransportError(error, signal, maxResponseBytes),
      );
    }
    return usesStreamingCall(request)
      ? sendStreaming(request, signal, maxResponseBytes, sockets)
      : sendByFetch(request, signal, maxResponseBytes);
  };
  return {
    send,
    close: () => {
      client.close();
      sockets.close();
    },
  };
}

/** Only `fetch` supports the environment's proxies and the setting that turns certificate verification off. */
export const needsFetch = (env: Readonly<Record<string, string | undefined>>): FetchOnly => ({
  http: Boolean(env.HTTP_PROXY || env.http_proxy),
  https: Boolean(env.HTTPS_PROXY || env.https_proxy) || env.NODE_TLS_REJECT_UNAUTHORIZED === "0",
});
