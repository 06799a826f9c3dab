/**
 * A streamed image response from an upstream in a private network, read in the chunks that the socket gives. `fetch`
 * returns chunks of hundreds of kilobytes that become garbage faster than it is collected.
 */
import type { AbortSignalLike } from "../../lib/abort-signal.ts";
import type { UpstreamRequest, UpstreamResponse } from "../adapter.ts";
import { decompressing, isCompressed } from "../decompress.ts";
import { BoundedResponse } from "./bounded-response.ts";
import type { ReusableSockets } from "./connection-reuse.ts";
import { type StreamingResponse, streamingCall } from "./streaming-call.ts";
import { unreachable } from "./transport-error.ts";

/** Connect timeout; the request's own timeout is longer. */
const connectMs = 30_000;

/** Whether a streaming call supports the request; `fetch` supports every request. */
export const needsStreamingCall = ({ url, body, streams }: UpstreamRequest): boolean =>
  streams === true && url.startsWith("http://") && typeof body !== "object";

export async function sendStreaming(
  request: UpstreamRequest,
  signal: AbortSignalLike,
  maxBytes: number,
  kept: ReusableSockets,
): Promise<UpstreamResponse> {
  const { hostname, port } = new URL(request.url);
  const place = {
    address: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? 80 : Number(port),
    request: written(request),
  };
  const answer = await streamingCall(place, { maxBytes, signal, connectMs, kept }).catch(
    (error) => {
      throw unreachable(error, signal, maxBytes);
    },
  );
  return new BoundedResponse({
    status: answer.status,
    headers: {
      get: (name) => answer.headers.get(name.toLowerCase()) ?? null,
      has: (name) => answer.headers.has(name.toLowerCase()),
    },
    pieces: () => plain(answer),
    signal,
    maxBytes,
  });
}

function written({ url, headers, body, method }: UpstreamRequest): string {
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
  const asked = method ?? (text === undefined ? "GET" : "POST");
  return `${asked} ${pathname}${search} HTTP/1.1\r\n${lines.join("")}\r\n${text ?? ""}`;
}

/** Some upstreams compress every response, even unrequested. */
function plain(answer: StreamingResponse): AsyncIterable<Uint8Array> {
  const coding = answer.headers.get("content-encoding")?.toLowerCase();
  return isCompressed(coding) ? decompressing(answer.chunks(), coding) : answer.chunks();
}
