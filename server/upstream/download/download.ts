/**
 * Downloads an image from a link of an upstream or a client. The link is untrusted: only public addresses (SSRF guard),
 * only images, and bounded in bytes and time.
 */

import { type AbortSignalLike, AbortSource } from "../../lib/abort-signal.ts";
import { abortable } from "../../lib/abortable.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { RequestTemp } from "../../lib/request-temp.ts";
import { sleep } from "../../lib/sleep.ts";
import { type CollectedImage, collectImage } from "../collect-image.ts";
import { imageChunks } from "../detect-image.ts";
import { NotConnected } from "../transport/connection.ts";
import {
  type StreamingAddress,
  type StreamingCallOptions,
  type StreamingResponse,
  streamingCall,
} from "../transport/streaming-call.ts";
import { type Blame, DownloadError, toDownloadError, toGatewayError } from "./download-error.ts";
import { isDataUrl, readDataUrl } from "./inline-url.ts";
import { type Resolve, resolvePublicAddresses, systemResolve } from "./ssrf-guard.ts";

export interface DownloadOptions {
  readonly maxBytes: number;
  /** Timeout of the whole download, over all redirects and retries. */
  readonly timeoutMs: number;
  /** Private hosts that are allowed, whoever gives the link. */
  readonly trusted?: readonly string[];
  readonly resolve?: Resolve;
  readonly connect?: typeof Bun.connect;
  /** Certificate authorities to trust instead of the default ones. */
  readonly ca?: string;
}

export interface DownloadCall {
  readonly signal: AbortSignalLike;
  readonly temp: RequestTemp;
  readonly blame: Blame;
  /** Private hosts that are allowed for this download: an upstream in a private network gives links to itself. */
  readonly trusted?: readonly string[];
  /** Whether an SVG is accepted. */
  readonly svg?: boolean;
}

export type Download = (url: string, call: DownloadCall) => Promise<CollectedImage>;

const mostRedirects = 3;
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Connect timeout per address, so that the other addresses of a host get their turn. */
const connectMs = 5000;
/** An upstream's generated image is billed, so its download is retried. */
const waitsMs = [300, 1000];

export function createDownload(options: DownloadOptions): Download {
  const { maxBytes, timeoutMs, resolve = systemResolve } = options;
  const always = options.trusted?.map((host) => host.toLowerCase()) ?? [];

  return async (link, call) => {
    const { blame, temp, signal } = call;
    if (isDataUrl(link)) return readDataUrl(link, { maxBytes, blame, svg: call.svg === true });
    const trusted = [...always, ...(call.trusted ?? [])];
    using limit = limited(signal, timeoutMs);
    let at: URL | undefined;

    const once = async (): Promise<CollectedImage> => {
      at = urlOf(link);
      for (let hops = 0; ; hops++) {
        // Credentials in a client's link are not used. Credentials in an upstream's link are part of the link.
        const asking = resolvePublicAddresses(at, trusted, resolve, blame === "upstream");
        const places = await abortable(asking, limit.signal);
        const answer = await reach(places, { ...options, signal: limit.signal, connectMs });
        const onward = locationOf(answer);
        if (onward === undefined) return collectImage(bodyOf(answer, call.svg === true), temp);
        answer.close();
        if (hops === mostRedirects) {
          throw new DownloadError("link", "it leads on to other links too often", "redirects");
        }
        at = urlOf(onward, at);
      }
    };

    for (let tries = 0; ; tries++) {
      try {
        return await once();
      } catch (thrown) {
        if (signal.aborted && signal.reason instanceof GatewayError) throw signal.reason;
        const error = toDownloadError(
          limit.signal.aborted ? limit.signal.reason : thrown,
          maxBytes,
        );
        if (!(error instanceof DownloadError)) throw error;
        const waitMs = blame === "upstream" && error.kind === "road" ? waitsMs[tries] : undefined;
        if (waitMs === undefined) throw toGatewayError(error, blame, at?.hostname ?? "");
        // Ends early at the timeout; the next attempt then reports it.
        await sleep(waitMs, limit.signal).catch(() => limit.signal.reason);
      }
    }
  };
}

function urlOf(link: string, from?: URL): URL {
  const url = URL.parse(link, from?.href);
  if (!url)
    throw new DownloadError("link", "the link is not an http or https address", "not a URL");
  return url;
}

/** The first address that accepts a connection. The SSRF guard has checked all of them. */
async function reach(
  places: readonly StreamingAddress[],
  options: StreamingCallOptions,
): Promise<StreamingResponse> {
  for (const [at, place] of places.entries()) {
    try {
      return await streamingCall(place, options);
    } catch (error) {
      const last = at === places.length - 1 || options.signal.aborted;
      if (last || !(error instanceof NotConnected)) throw error;
    }
  }
  throw new NotConnected({ code: "no address" });
}

function locationOf({ status, headers }: StreamingResponse): string | undefined {
  return redirects.has(status) ? headers.get("location") : undefined;
}

/** The body of an acceptable response; throws the reason for any other. */
function bodyOf(answer: StreamingResponse, svg: boolean): AsyncIterable<Uint8Array> {
  const { status, headers } = answer;
  const coding = headers.get("content-encoding")?.toLowerCase() ?? "identity";
  if (status === 200 && coding === "identity") return imageChunks(answer.chunks(), svg);
  answer.close();
  // Decompression could take any amount of memory, and images are compressed already.
  if (status === 200) throw new DownloadError("link", "it is compressed, unasked", coding);
  const passing = status === 429 || status >= 500;
  throw new DownloadError(
    passing ? "road" : "link",
    `it was answered with status ${status}`,
    `${status}`,
  );
}

/** Aborts with the request, or at the timeout. */
function limited(
  signal: AbortSignalLike,
  ms: number,
): { readonly signal: AbortSource; [Symbol.dispose](): void } {
  const cancel = new AbortSource();
  const leave = (): void => cancel.abort(signal.reason);
  if (signal.aborted) leave();
  const seconds = ms / 1000;
  const timer = setTimeout(() => {
    cancel.abort(new DownloadError("time", `it took longer than ${seconds} seconds`, "time is up"));
  }, ms);
  signal.addEventListener("abort", leave, { once: true });
  return {
    signal: cancel,
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", leave);
    },
  };
}
