/**
 * A streamed image response from an upstream in a private network, read in the chunks that the socket gives. `fetch`
 * returns chunks of hundreds of kilobytes that become garbage faster than it is collected.
 */
import type { UpstreamRequest, UpstreamResponse } from "../adapter.ts";
import { decompressing, isCompressed } from "../decompress.ts";
import { BoundedResponse } from "./bounded-response.ts";
import type { ReusableSockets } from "./connection-reuse.ts";
import { type StreamingResponse, streamingCall } from "./streaming-call.ts";
import { toTransportError } from "./transport-error.ts";

/** Connect timeout; the request's own timeout is longer. */
const connectMs = 30_000;

/** Whether a streaming call supports the request; `fetch` supports every request. */
export const usesStreamingCall = ({ url, body, streams }: UpstreamRequest): boolean =>
  streams === true && url.startsWith("http://") && typeof body !== "object";

export async function sendStreaming(
  request: UpstreamRequest,
  signal: AbortSignal,
  maxBytes: number,
  sockets: ReusableSockets,
): Promise<UpstreamResponse> {
  const { hostname, port } = new URL(request.url);
  const endpoint = {
    address: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? 80 : Number(port),
    request: serializeRequest(request),
  };
  const response = await streamingCall(endpoint, { maxBytes, signal, connectMs, sockets }).catch(
    (error) => {
      throw toTransportError(error, signal, maxBytes);
    },
  );
  return new BoundedResponse({
    status: response.status,
    headers: {
      get: (name) => response.headers.get(name.toLowerCase()) ?? null,
      has: (name) => response.headers.has(name.toLowerCase()),
    },
    chunks: () => plain(response),
    signal,
    maxBytes,
  });
}

function serializeRequest({ url, headers, body, method }: UpstreamRequest): string {
  const { host, pathname, search } = new URL(url);
  const text = body as string | undefined;
  const lines = Object.entries({
    host,
    accept: "*/*",
    "user-agent": "vexel",
    ...headers,
    // Images are compressed already.
    "accept-encoding": "identity",
    ...(text !== undefined && { "content-length": String(Buffer.byteLength(text)) }),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  const verb = method ?? (text === undefined ? "GET" : "POST");
  return `${verb} ${pathname}${search} HTTP/1.1\r\n${lines.join("")}\r\n${text ?? ""}`;
}

/** Some upstreams compress every response, even unrequested. */
function plain(response: StreamingResponse): AsyncIterable<Uint8Array> {
  const coding = response.headers.get("content-encoding")?.toLowerCase();
  return isCompressed(coding) ? decompressing(response.chunks(), coding) : response.chunks();
}
