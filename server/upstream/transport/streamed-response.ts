/** A streamed response of the gateway's own HTTP client. */
import type { UpstreamResponse } from "../adapter.ts";
import { decompressing, isCompressed } from "../decompress.ts";
import { BoundedResponse } from "./bounded-response.ts";
import type { StreamedResponse } from "./streamed-exchange.ts";

export const toUpstreamResponse = (
  response: StreamedResponse,
  signal: AbortSignal,
  maxBytes: number,
): UpstreamResponse =>
  new BoundedResponse({
    status: response.status,
    headers: {
      get: (name) => response.headers.get(name.toLowerCase()) ?? null,
      has: (name) => response.headers.has(name.toLowerCase()),
    },
    chunks: () => decompressed(response),
    signal,
    maxBytes,
  });

/** Some upstreams compress every response, even unrequested. */
function decompressed(response: StreamedResponse): AsyncIterable<Uint8Array> {
  const coding = response.headers.get("content-encoding")?.toLowerCase();
  return isCompressed(coding) ? decompressing(response.chunks(), coding) : response.chunks();
}
