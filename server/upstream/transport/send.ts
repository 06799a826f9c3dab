/** Step 12: out and back, by `fetch`, or the shorter way where that can carry it. */
import type { Signal } from "../../lib/signal.ts";
import type { UpstreamRequest, UpstreamResponse } from "../adapter.ts";
import { PlainReply } from "./buffered-response.ts";
import { KeptSockets } from "./connection-reuse.ts";
import { fetchReply } from "./fetch-response.ts";
import { HttpClient } from "./http-client.ts";
import { KeepAliveTrust, type Unsolicited } from "./keep-alive-trust.ts";
import type { Answer } from "./parse-response.ts";
import { carriesAlone, loneReply } from "./streamed-response.ts";
import { unreachable } from "./transport-error.ts";

export type Send = (request: UpstreamRequest, signal: Signal) => Promise<UpstreamResponse>;

export interface SendOptions {
  /** The largest answer that is taken, after decompression. */
  readonly maxAnswerBytes: number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  /** Calls leave through a proxy, which only `fetch` knows. */
  readonly proxied: boolean;
  /** Told of an upstream that sent a response which no request asked for. */
  readonly onUnsolicited?: (told: Unsolicited) => void;
}

export interface Sender {
  readonly send: Send;
  /** Lets go of the connections that are kept open. */
  close(): void;
}

export function createSend(options: SendOptions): Sender {
  const { maxAnswerBytes, clock, proxied, onUnsolicited } = options;
  const trust = new KeepAliveTrust({ clock, ...(onUnsolicited && { onUnsolicited }) });
  const client = new HttpClient({ maxAnswerBytes, clock, trust });
  const kept = new KeptSockets(trust);

  const take = (answer: Answer): UpstreamResponse => new PlainReply(answer, maxAnswerBytes);
  const send: Send = (request, signal) => {
    if (proxied) return fetchReply(request, signal, maxAnswerBytes);
    if (HttpClient.carries(request)) {
      return client.ask(request, signal, take, (error) =>
        unreachable(error, signal, maxAnswerBytes),
      );
    }
    return carriesAlone(request)
      ? loneReply(request, signal, maxAnswerBytes, kept)
      : fetchReply(request, signal, maxAnswerBytes);
  };
  return {
    send,
    close: () => {
      client.close();
      kept.close();
    },
  };
}

/** The variables that make `fetch` use a proxy for plain HTTP. */
export const isProxied = (env: Readonly<Record<string, string | undefined>>): boolean =>
  Boolean(env.HTTP_PROXY || env.http_proxy);
