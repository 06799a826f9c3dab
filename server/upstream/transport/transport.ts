/** The transport: sends a request with the gateway's own HTTP client, or with `fetch` where that is needed. */
import type { UpstreamRequest, UpstreamResponse } from "../adapter.ts";
import { type TlsTrust, urlAddress } from "./connection.ts";
import { ConnectionPool, ReuseBlocks, type Unsolicited } from "./connection-pool.ts";
import {
  BufferedExchange,
  openStream,
  type StreamedResponse,
  type UpstreamEndpoint,
} from "./exchange.ts";
import type { ResponseParser } from "./parse-response.ts";
import { NotConnected, toTransportError } from "./transport-error.ts";
import { isBodyInMemory, UploadMemory } from "./upload-memory.ts";
import { BoundedResponse, BufferedResponse, toUpstreamResponse } from "./upstream-response.ts";

/** Throws GatewayError. The response has a status and headers; its body is buffered or arrives in chunks. */
export type SendUpstreamRequest = (
  request: UpstreamRequest,
  signal: AbortSignal,
) => Promise<UpstreamResponse>;

export interface FetchOnly {
  readonly http: boolean;
  readonly https: boolean;
}

interface TransportOptions {
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

export interface UpstreamTransport {
  readonly send: SendUpstreamRequest;
  /** Never through a proxy: to a metadata service of the machine. */
  readonly sendDirect: SendUpstreamRequest;
  /** Closes the idle connections. */
  close(): void;
}

export function createTransport(options: TransportOptions): UpstreamTransport {
  const { maxResponseBytes, clock, fetchOnly, tls, onUnsolicited } = options;
  const reuseBlocks = new ReuseBlocks({ clock, ...(onUnsolicited && { onUnsolicited }) });
  const client = new HttpClient({ maxResponseBytes, clock, reuseBlocks, ...(tls && { tls }) });
  const memory = new UploadMemory();
  const sendNow: SendUpstreamRequest = (request, signal) => {
    const needsFetch = isEncrypted(request.url) ? fetchOnly.https : fetchOnly.http;
    return needsFetch || !HttpClient.supports(request)
      ? sendByFetch(request, signal, maxResponseBytes)
      : client.send(request, signal);
  };
  return {
    send: (request, signal) => {
      const reading = memory.read(request.body);
      if (!reading) return sendNow(request, signal);
      return reading.then((body) =>
        sendNow({ ...request, body }, signal).finally(() => body.release()),
      );
    },
    sendDirect: (request, signal) => client.send(request, signal),
    close: () => client.close(),
  };
}

/** Schemes are case-insensitive. */
const isEncrypted = (url: string): boolean => /^https:/i.test(url);

/** Only `fetch` supports the environment's proxies and the setting that turns certificate verification off. */
export const needsFetch = (env: Readonly<Record<string, string | undefined>>): FetchOnly => ({
  http: Boolean(env.HTTP_PROXY || env.http_proxy),
  https: Boolean(env.HTTPS_PROXY || env.https_proxy) || env.NODE_TLS_REJECT_UNAUTHORIZED === "0",
});

interface HttpClientOptions {
  readonly maxResponseBytes: number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  readonly reuseBlocks: ReuseBlocks;
  /** How upstreams over `https://` are verified. */
  readonly tls?: TlsTrust;
}

/**
 * A small HTTP/1.1 client with a connection pool, plain or over TLS. Unlike the pool of `fetch`, it detects
 * unsolicited responses, and it knows whether a failed request had reached the upstream at all. It also takes less CPU
 * time than `fetch`, which goes through another thread (docs/decisions/0023-http-client.md).
 */
export class HttpClient {
  readonly #pool: ConnectionPool;
  readonly #maxBytes: number;
  readonly #tls: TlsTrust;

  constructor({ maxResponseBytes, clock, reuseBlocks, tls = {} }: HttpClientOptions) {
    this.#pool = new ConnectionPool({ clock, reuseBlocks });
    this.#maxBytes = maxResponseBytes;
    this.#tls = tls;
  }

  /**
   * Whether this client supports the request; `fetch` supports every request. Streamed responses over `https://` are
   * left to `fetch`: they come from the internet, and the network takes longer than the CPU time that is saved.
   */
  static supports({ url, body, streams, method }: UpstreamRequest): boolean {
    if (typeof body === "object" && !isBodyInMemory(body)) return false;
    return streams ? !isEncrypted(url) : !method;
  }

  /** Throws GatewayError. */
  async send(request: UpstreamRequest, signal: AbortSignal): Promise<UpstreamResponse> {
    const { streams, fileBytes = this.#maxBytes } = request;
    const maxBytes = streams ? fileBytes : this.#maxBytesOf(request);
    try {
      return request.streams
        ? toUpstreamResponse(await this.#sendStreamed(request, signal), signal, maxBytes)
        : new BufferedResponse(await this.exchange(request, signal), maxBytes);
    } catch (error) {
      throw toTransportError(error, signal, { url: request.url, maxBytes });
    }
  }

  /** Rejects with NotConnected, ConnectionLost, InvalidHttpResponse, ResponseTooLarge or RequestAborted. */
  exchange(request: UpstreamRequest, signal: AbortSignal): Promise<ResponseParser> {
    return new Promise((resolve, reject) => {
      const endpoint = this.#endpointOf(request.url);
      const exchange = new BufferedExchange({
        pool: this.#pool,
        endpoint,
        request: serializeRequest(request, endpoint),
        ...(isBodyInMemory(request.body) && { body: request.body }),
        // A request that is not idempotent needs a new connection.
        mayReuse: !request.isNonIdempotent,
        maxBytes: this.#maxBytesOf(request),
        signal,
        resolve,
        reject,
      });
      exchange.begin();
    });
  }

  #maxBytesOf({ maxResponseBytes = this.#maxBytes }: UpstreamRequest): number {
    return Math.min(this.#maxBytes, maxResponseBytes);
  }

  /** Images, which must not be generated twice: the upstream may close a reused connection just as it is used. */
  #sendStreamed(request: UpstreamRequest, signal: AbortSignal): Promise<StreamedResponse> {
    const endpoint = this.#endpointOf(request.url);
    const text = serializeRequest(request, endpoint);
    const { fileBytes: maxBytes = this.#maxBytes } = request;
    const { body } = request;
    return openStream({
      address: endpoint,
      request: text,
      ...(isBodyInMemory(body) && { body: body.chunks }),
      maxBytes,
      signal,
    });
  }

  close(): void {
    this.#pool.close();
  }

  #endpointOf(url: string): UpstreamEndpoint {
    const parsed = new URL(url);
    const { protocol, host, pathname, search } = parsed;
    const secure = protocol === "https:";
    return {
      ...urlAddress(parsed),
      ...(secure && { tls: this.#tls }),
      key: secure ? `https://${host}` : host,
      host,
      path: pathname + search,
    };
  }
}

/** Only the HTTP client sets the headers for the body's length and the connection. */
const ownHeaders = new Set(["content-length", "transfer-encoding", "connection"]);

/** Against header injection. */
const lineBreak = /[\r\n\0]/;

/** The request; only its head where the body is large. */
function serializeRequest(
  { headers, body, method }: UpstreamRequest,
  { host, path }: UpstreamEndpoint,
): string {
  let head = `${method ?? (body === undefined ? "GET" : "POST")} ${path} HTTP/1.1\r\n`;
  for (const name in headers) {
    if (ownHeaders.has(name)) continue;
    const value = headers[name] as string;
    // Configured headers have no line break; a fetched value, such as a token, might.
    if (lineBreak.test(value)) throw new NotConnected(new Error(`${name} contains a line break`));
    head += `${name}: ${value}\r\n`;
  }
  if (headers.host === undefined) head += `host: ${host}\r\n`;
  // Some firewalls reject a request without these two headers.
  if (headers["user-agent"] === undefined) head += "user-agent: vexel\r\n";
  if (headers.accept === undefined) head += "accept: */*\r\n";
  // Compression costs both sides more than bandwidth in a private network does.
  if (headers["accept-encoding"] === undefined) head += "accept-encoding: identity\r\n";
  if (body === undefined) return `${head}\r\n`;
  return typeof body === "string"
    ? `${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
    : `${head}content-length: ${body.length}\r\n\r\n`;
}

/**
 * Sends any request with `fetch`: through a proxy, over TLS, compressed, streamed. The only use of `fetch` for
 * upstreams.
 */
export async function sendByFetch(
  { url, headers, body, method, maxResponseBytes, fileBytes }: UpstreamRequest,
  signal: AbortSignal,
  maxBytes: number,
): Promise<UpstreamResponse> {
  const inMemory = isBodyInMemory(body) ? joined(body.chunks) : undefined;
  const streamed = typeof body === "object" && !inMemory ? body : undefined;
  let response: Response;
  try {
    response = await fetch(url, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers: streamed ? { ...headers, "content-length": String(streamed.length) } : headers,
      body: streamed
        ? (streamed.open() as unknown as ReadableStream)
        : (inMemory ?? (body as string | undefined)),
      signal,
      // A redirect would send the upstream's API key to another host.
      redirect: "manual",
      // Bun's pool reuses a connection without checking for bytes that wait on it: an upstream that sends one
      // response too many would make the next request get another client's image. So each request has its own
      // connection.
      keepalive: false,
      // Bun gives up after five silent minutes; the request's own deadline applies here.
      timeout: false,
    });
  } catch (error) {
    throw toTransportError(error, signal, { url });
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
    maxBytes: fileBytes ?? Math.min(maxBytes, maxResponseBytes ?? maxBytes),
  });
}

const joined = (chunks: readonly Uint8Array[]): Uint8Array => {
  const [first] = chunks;
  return first && chunks.length === 1 ? first : Buffer.concat(chunks);
};

async function* nothing(): AsyncGenerator<Uint8Array> {}
