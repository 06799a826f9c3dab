/**
 * Image download from a link of an upstream or a client. The link is untrusted: only public addresses
 * (`ssrf-guard.ts`), only images, and bounded in bytes, time and redirects.
 */

import { GatewayError } from "../../lib/gateway-error.ts";
import { abortable } from "../../lib/tasks.ts";
import { sleep, timeoutSignal } from "../../lib/timers.ts";
import { isDataUrl } from "../../lib/url-scheme.ts";
import type { RequestTemp } from "../../temp-storage/request-temp.ts";
import { type CollectedImage, collectImage } from "../collect-image.ts";
import {
  NotConnected,
  openStream,
  type StreamedResponse,
  type StreamRequest,
} from "../transport/index.ts";
import { imageChunks } from "./detect-image.ts";
import {
  DownloadError,
  downloadErrorToGatewayError,
  type LinkOrigin,
  toDownloadError,
} from "./download-error.ts";
import { readDataUrl } from "./inline-url.ts";
import {
  type CheckedLink,
  type Resolve,
  resolvePublicAddresses,
  systemResolve,
} from "./ssrf-guard.ts";

interface DownloadOptions {
  readonly maxBytes: number;
  /** Timeout of the whole download, over all redirects and retries. */
  readonly timeoutMs: number;
  /** Private hosts that are allowed for links of upstreams and clients. */
  readonly trusted?: readonly string[];
  readonly resolve?: Resolve;
  readonly connect?: typeof Bun.connect;
  /** Certificate authorities to trust instead of the default ones. */
  readonly ca?: string;
}

export interface DownloadRequest {
  readonly signal: AbortSignal;
  readonly temp: RequestTemp;
  readonly origin: LinkOrigin;
  /** Private hosts that are allowed for this download: an upstream in a private network returns links to itself. */
  readonly trusted?: readonly string[];
  /** Whether an SVG is accepted. */
  readonly svg?: boolean;
}

type Download = (url: string, request: DownloadRequest) => Promise<CollectedImage>;

const maxRedirects = 3;
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Connect timeout per address, so that the other addresses of a host are tried as well. */
const connectMs = 5000;
/** An upstream's generated image is billed, so its download is retried. */
const retryDelaysMs = [300, 1000];

export function createDownload(options: DownloadOptions): Download {
  const trusted = options.trusted?.map((host) => host.toLowerCase()) ?? [];
  return (link, request) => download(link, request, { ...options, trusted });
}

async function download(
  link: string,
  request: DownloadRequest,
  options: DownloadOptions,
): Promise<CollectedImage> {
  const { origin, signal, svg = false } = request;
  const { maxBytes, timeoutMs } = options;
  if (isDataUrl(link)) return readDataUrl(link, { maxBytes, origin, svg });
  const tooSlow = () =>
    new DownloadError("timeout", `it took longer than ${timeoutMs / 1000} seconds`, "timeout");
  using limit = timeoutSignal(timeoutMs, tooSlow, signal);
  for (let attempt = 0; ; attempt++) {
    const visited: URL[] = [];
    try {
      return await followRedirects(link, { ...request, signal: limit.signal }, options, visited);
    } catch (thrown) {
      const error = failureOf(thrown, signal, limit.signal, maxBytes);
      const mayRetry = origin === "upstream" && error.kind === "unreachable";
      const waitMs = mayRetry ? retryDelaysMs[attempt] : undefined;
      if (waitMs === undefined)
        throw downloadErrorToGatewayError(error, origin, visited.at(-1)?.hostname ?? "");
      // Ends early at the timeout; the next attempt then reports it.
      await sleep(waitMs, limit.signal).catch(() => limit.signal.reason);
    }
  }
}

/** Throws an error that is not of the download, such as the end of the request. */
function failureOf(
  thrown: unknown,
  signal: AbortSignal,
  limited: AbortSignal,
  maxBytes: number,
): DownloadError {
  if (signal.aborted && signal.reason instanceof GatewayError) throw signal.reason;
  const error = toDownloadError(limited.aborted ? limited.reason : thrown, maxBytes);
  if (!(error instanceof DownloadError)) throw error;
  return error;
}

/** Adds each URL that it requests to `visited`. */
async function followRedirects(
  link: string,
  request: DownloadRequest,
  options: DownloadOptions,
  visited: URL[],
): Promise<CollectedImage> {
  const { origin, temp, signal, svg = false } = request;
  const { resolve = systemResolve } = options;
  const trusted = [...(options.trusted ?? []), ...(request.trusted ?? [])];
  for (let url = urlOf(link); ; ) {
    visited.push(url);
    // Credentials in a client's link are not used. Credentials in an upstream's link are part of the link.
    const resolving = resolvePublicAddresses(url, trusted, resolve, origin === "upstream");
    const links = await abortable(resolving, signal);
    const response = await connectToFirst(links, options, signal);
    const location = locationOf(response);
    if (location === undefined) return collectImage(bodyOf(response, svg), temp);
    response.close();
    if (visited.length > maxRedirects) {
      throw new DownloadError("invalid", "it has too many redirects", "redirects");
    }
    url = urlOf(location, url);
  }
}

function urlOf(link: string, from?: URL): URL {
  const url = URL.parse(link, from?.href);
  if (!url) throw new DownloadError("invalid", "the link is not an http or https URL", "not a URL");
  return url;
}

/** The first address that accepts a connection. The SSRF guard has checked all of them. */
async function connectToFirst(
  links: readonly CheckedLink[],
  { maxBytes, ca, connect }: DownloadOptions,
  signal: AbortSignal,
): Promise<StreamedResponse> {
  for (const [at, { address, request }] of links.entries()) {
    const trusted = address.tls ? { ...address, tls: { ...address.tls, ca } } : address;
    const options: StreamRequest = {
      request,
      maxBytes,
      signal,
      connectMs,
      connect,
      address: trusted,
    };
    try {
      return await openStream(options);
    } catch (error) {
      const last = at === links.length - 1 || signal.aborted;
      if (last || !(error instanceof NotConnected)) throw error;
    }
  }
  throw new NotConnected({ code: "no address" });
}

function locationOf({ status, headers }: StreamedResponse): string | undefined {
  return redirects.has(status) ? headers.get("location") : undefined;
}

/** The body of an acceptable response. Throws DownloadError for any other response. */
function bodyOf(response: StreamedResponse, svg: boolean): AsyncIterable<Uint8Array> {
  const { status, headers } = response;
  const coding = headers.get("content-encoding")?.toLowerCase() ?? "identity";
  if (status === 200 && coding === "identity") return imageChunks(response.chunks(), svg);
  response.close();
  // Decompression could take any amount of memory, and images are compressed already.
  if (status === 200)
    throw new DownloadError("invalid", "it is compressed, which is not supported", coding);
  const isTransient = status === 429 || status >= 500;
  throw new DownloadError(
    isTransient ? "unreachable" : "invalid",
    `its host responded with status ${status}`,
    `${status}`,
  );
}
