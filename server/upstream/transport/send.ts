/** Step 12: sends a request with `fetch`, or with the gateway's own HTTP client where that supports it. */
import type { AbortSignalLike } from "../../lib/abort-signal.ts";
import type { UpstreamRequest, UpstreamResponse } from "../adapter.ts";
import { BufferedResponse } from "./buffered-response.ts";
import type { TlsTrust } from "./connection.ts";
import { ReusableSockets } from "./connection-reuse.ts";
import { toUpstreamResponse } from "./fetch-response.ts";
import { HttpClient } from "./http-client.ts";
import { KeepAliveTrust, type Unsolicited } from "./keep-alive-trust.ts";
import type { ResponseParser } from "./parse-response.ts";
import { needsStreamingCall, sendStreaming } from "./streamed-response.ts";
import { unreachable } from "./transport-error.ts";

export type Send = (request: UpstreamRequest, signal: AbortSignalLike) => Promise<UpstreamResponse>;

export interface ByFetch {
  readonly http: boolean;
  readonly https: boolean;
}

export interface SendOptions {
  /** Maximum size of a response, after decompression. */
  readonly maxAnswerBytes: number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  /** Which requests only `fetch` can send. */
  readonly byFetch: ByFetch;
  readonly tls?: TlsTrust;
  /** Told of an upstream that sent a response which no request asked for. */
  readonly onUnsolicited?: (told: Unsolicited) => void;
}

export interface Sender {
  readonly send: Send;
  /** Closes the idle connections. */
  close(): void;
}

export function createSend(options: SendOptions): Sender {
  const { maxAnswerBytes, clock, byFetch, tls, onUnsolicited } = options;
  const trust = new KeepAliveTrust({ clock, ...(onUnsolicited && { onUnsolicited }) });
  const client = new HttpClient({ maxAnswerBytes, clock, trust, ...(tls && { tls }) });
  const kept = new ReusableSockets(trust);

  const take = (answer: ResponseParser): UpstreamResponse =>
    new BufferedResponse(answer, maxAnswerBytes);
  const send: Send = (request, signal) => {
    if (request.url.startsWith("https://") ? byFetch.https : byFetch.http) {
      return toUpstreamResponse(request, signal, maxAnswerBytes);
    }
    if (HttpClient.carries(request)) {
      return client.ask(request, signal, take, (error) =>
        unreachable(error, signal, maxAnswerBytes),
      );
    }
    return needsStreamingCall(request)
      ? sendStreaming(request, signal, maxAnswerBytes, kept)
      : toUpstreamResponse(request, signal, maxAnswerBytes);
  };
  return {
    send,
    close: () => {
      client.close();
      kept.close();
    },
  };
}

/** Only `fetch` supports the environment's proxies and the setting that turns certificate verification off. */
export const needsFetch = (env: Readonly<Record<string, string | undefined>>): ByFetch => ({
  http: Boolean(env.HTTP_PROXY || env.http_proxy),
  https: Boolean(env.HTTPS_PROXY || env.https_proxy) || env.NODE_TLS_REJECT_UNAUTHORIZED === "0",
});
