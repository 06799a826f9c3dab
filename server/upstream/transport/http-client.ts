/**
 * A small HTTP/1.1 client with connection pools, plain or over TLS. It costs half of what `fetch` does, which goes
 * through another thread; it knows whether a failed request had reached the upstream at all; and unlike the pool of
 * `fetch`, it detects unsolicited responses.
 */
import { LargeJson } from "../../lib/large-json.ts";
import type { UpstreamRequest, UpstreamResponse } from "../adapter.ts";
import { BufferedExchange } from "./buffered-exchange.ts";
import type { TlsTrust } from "./connection.ts";
import { bufferedPool, ConnectionPool, streamedPool } from "./connection-pool.ts";
import type { KeepAliveTrust } from "./keep-alive-trust.ts";
import type { ResponseParser } from "./parse-response.ts";
import { type Endpoint, serializeRequest } from "./serialize-request.ts";
import { StreamedExchange } from "./streamed-exchange.ts";
import { toTransportError } from "./transport-error.ts";
import { BufferedResponse, toUpstreamResponse } from "./upstream-response.ts";

export interface HttpClientOptions {
  readonly maxResponseBytes: number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  readonly trust: KeepAliveTrust;
  /** How upstreams over `https://` are verified. */
  readonly tls?: TlsTrust;
}

export class HttpClient {
  readonly #buffered: ConnectionPool;
  readonly #streamed: ConnectionPool;
  readonly #maxBytes: number;
  readonly #tls: TlsTrust;
  readonly #endpoints = new Map<string, Endpoint>();

  constructor({ maxResponseBytes, clock, trust, tls = {} }: HttpClientOptions) {
    this.#buffered = new ConnectionPool({ clock, trust, ...bufferedPool });
    this.#streamed = new ConnectionPool({ clock, trust, ...streamedPool });
    this.#maxBytes = maxResponseBytes;
    this.#tls = tls;
  }

  /**
   * Whether this client supports the request; `fetch` supports every request. Streamed responses over `https://` are
   * left to `fetch`: they come from the internet, where the connection costs more than the CPU.
   */
  static carries({ url, body, streams, method }: UpstreamRequest): boolean {
    if (typeof body === "object" && !(body instanceof LargeJson && !streams)) return false;
    return streams ? url.startsWith("http://") : !method;
  }

  /** Throws GatewayError. */
  send(request: UpstreamRequest, signal: AbortSignal): Promise<UpstreamResponse> {
    const maxBytes = Math.min(this.#maxBytes, request.maxResponseBytes ?? this.#maxBytes);
    return request.streams
      ? this.#sendStreamed(request, signal)
      : this.exchange(
          request,
          signal,
          (response) => new BufferedResponse(response, maxBytes),
          (error) => toTransportError(error, signal, maxBytes),
        );
  }

  /**
   * Resolves with the result of `take`; rejects with the result of `toError` for NotConnected, ConnectionLost,
   * InvalidHttpResponse, ResponseTooLarge or CallAborted. Both run synchronously within one promise: a promise for each
   * step would cost as much as the steps.
   */
  exchange<T>(
    request: UpstreamRequest,
    signal: AbortSignal,
    take: (response: ResponseParser) => T,
    toError: (error: unknown) => unknown,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const fail = (error: unknown): void => reject(toError(error));
      try {
        const endpoint = this.#endpointOf(request.url);
        const exchange = new BufferedExchange({
          pool: this.#buffered,
          endpoint,
          request: serializeRequest(request, endpoint),
          ...(request.body instanceof LargeJson && { body: request.body }),
          // A request that is not idempotent needs a new connection.
          mayReuse: !request.isNonIdempotent,
          maxBytes: Math.min(this.#maxBytes, request.maxResponseBytes ?? this.#maxBytes),
          signal,
          resolve: (response) => resolve(take(response)),
          reject: fail,
        });
        exchange.begin();
      } catch (error) {
        fail(error);
      }
    });
  }

  async #sendStreamed(request: UpstreamRequest, signal: AbortSignal): Promise<UpstreamResponse> {
    const maxBytes = this.#maxBytes;
    try {
      const endpoint = this.#endpointOf(request.url);
      const exchange = new StreamedExchange({
        address: endpoint,
        request: serializeRequest(request, endpoint),
        pool: { connections: this.#streamed, key: endpoint.key },
        maxBytes,
        signal,
      });
      return toUpstreamResponse(await exchange.begin(), signal, maxBytes);
    } catch (error) {
      throw toTransportError(error, signal, maxBytes);
    }
  }

  close(): void {
    this.#buffered.close();
    this.#streamed.close();
  }

  /** Addresses come from the configuration, so there are few; the map is bounded nevertheless. */
  #endpointOf(url: string): Endpoint {
    const cached = this.#endpoints.get(url);
    if (cached) return cached;
    const { protocol, hostname, port, host, pathname, search } = new URL(url);
    const secure = protocol === "https:";
    const endpoint: Endpoint = {
      hostname: hostname.replace(/^\[|\]$/g, ""),
      port: port === "" ? (secure ? 443 : 80) : Number(port),
      ...(secure && { tls: this.#tls }),
      key: secure ? `https://${host}` : host,
      host,
      path: pathname + search,
    };
    if (this.#endpoints.size >= 1000) this.#endpoints.clear();
    this.#endpoints.set(url, endpoint);
    return endpoint;
  }
}
