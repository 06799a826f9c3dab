/**
 * Sends an event to a webhook, never to a link-local address. The webhook endpoint of a client must have a public
 * address, unless the operator trusts its host.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import type { UpstreamResponse } from "../upstream/adapter.ts";
import { guardLinkLocal, guardPublic, systemResolve } from "../upstream/download/index.ts";
import {
  type FetchOnly,
  type SendUpstreamRequest,
  sendByFetch,
} from "../upstream/transport/index.ts";
import type { Post } from "./attempt-delivery.ts";

interface PostWebhookOptions {
  /** The version of the gateway, for the user agent. */
  readonly version: string;
  readonly fetchOnly: FetchOnly;
  /** Private hosts that webhook endpoints of clients may have, as `host` or `host:port`. */
  readonly trustedHosts: readonly string[];
}

/** Only the status and one header of the response matter, so its body is not read. */
export function createPostWebhook(options: PostWebhookOptions): Post {
  const { version, fetchOnly, trustedHosts } = options;
  const sendUnguarded: SendUpstreamRequest = (request, signal) => sendByFetch(request, signal, 0);
  const sendToClient = guardPublic({
    send: sendUnguarded,
    resolve: systemResolve,
    trusted: trustedHosts,
  });
  const sendToOperator = guardLinkLocal({
    send: sendUnguarded,
    resolve: systemResolve,
    isProxied: ({ protocol }) => (protocol === "https:" ? fetchOnly.https : fetchOnly.http),
  });
  return async ({ isOfClient, ...request }, signal) => {
    const send = isOfClient ? sendToClient : sendToOperator;
    const cancel = new AbortController();
    const stop = () => cancel.abort(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    const headers = { ...request.headers, "user-agent": `vexel/${version}` };
    try {
      const response = await send({ ...request, headers, method: "POST" }, cancel.signal);
      const retryAfterMs = retryAfterOf(response);
      return { status: response.status, ...(retryAfterMs !== undefined && { retryAfterMs }) };
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      const { notSent, logDetail } = error.details;
      const problem = notSent ? "it cannot be reached" : "the connection broke";
      throw new Error(logDetail ? `${problem} (${logDetail})` : problem, { cause: error });
    } finally {
      signal.removeEventListener("abort", stop);
      cancel.abort(new Error("the body of the response is not needed"));
    }
  };
}

/** Only seconds are accepted: a date would depend on the receiver's clock. */
function retryAfterOf({ headers }: UpstreamResponse): number | undefined {
  const seconds = headers.get("retry-after") ?? "";
  return /^\d{1,7}$/.test(seconds) ? Number(seconds) * 1000 : undefined;
}
