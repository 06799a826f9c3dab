/**
 * Sends any request with `fetch`: through a proxy, over TLS, compressed, streamed. The only use of `fetch` for
 * upstreams.
 */
import type { UpstreamRequest, UpstreamResponse } from "../adapter.ts";
import { toTransportError } from "./transport-error.ts";
import { BoundedResponse } from "./upstream-response.ts";

export async function sendByFetch(
  { url, headers, body, method, maxResponseBytes }: UpstreamRequest,
  signal: AbortSignal,
  maxBytes: number,
): Promise<UpstreamResponse> {
  const streamed = typeof body === "object" ? body : undefined;
  let response: Response;
  try {
    response = await fetch(url, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers: streamed ? { ...headers, "content-length": String(streamed.length) } : headers,
      body: streamed
        ? (streamed.open() as unknown as ReadableStream)
        : (body as string | undefined),
      signal,
      // A redirect would send the upstream's API key to another host.
      redirect: "manual",
      // Bun's pool hands out a connection without looking for bytes that wait on it: an upstream that sends one
      // response too many would make the next request get another client's image. So each request has its own
      // connection.
      keepalive: false,
      // Bun gives up after five silent minutes; the request's own deadline applies here.
      timeout: false,
    });
  } catch (error) {
    throw toTransportError(error, signal);
  }
  const { status, headers: responseHeaders } = response;
  return new BoundedResponse({
    status,
    headers: responseHeaders,
    chunks: () => response.body ?? nothing(),
    // A length in the header is the length on the wire: only without compression does it bound the body.
    readWhole: (max) =>
      Number(responseHeaders.get("content-length") ?? Number.NaN) <= max &&
      !responseHeaders.has("content-encoding")
        ? response.bytes()
        : undefined,
    signal,
    maxBytes: Math.min(maxBytes, maxResponseBytes ?? maxBytes),
  });
}

async function* nothing(): AsyncGenerator<Uint8Array> {}
