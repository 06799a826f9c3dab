/**
 * A small HTTP/1.1 client with a connection pool, plain or over TLS, for buffered responses: embeddings. It costs half
 * of what `fetch` does, which goes through another thread; it knows whether a failed request had reached the upstream
 * at all; and unlike the pool of `fetch`, it detects unsolicited responses.
 */
import type { UpstreamRequest } from "../adapter.ts";
import {
  type Address,
  Connection,
  ConnectionLost,
  NotConnected,
  type ResponseHandler,
  type TlsTrust,
} from "./connection.ts";
import { ConnectionPool } from "./connection-pool.ts";
import type { KeepAliveTrust } from "./keep-alive-trust.ts";
import type { ResponseParser } from "./parse-response.ts";

export interface HttpClientOptions {
  readonly maxResponseBytes: number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  readonly trust: KeepAliveTrust;
  /** How upstreams over `https://` are verified. */
  readonly tls?: TlsTrust;
}

interface Endpoint extends Address {
  /** The key of its connections in the pool. */
  readonly key: string;
  readonly host: string;
  readonly path: string;
}

/** The request was aborted by its signal. */
export class CallAborted extends Error {
  override readonly name = "CallAborted";
}

export class HttpClient {
  readonly #pool: ConnectionPool;
  readonly #max: number;
  readonly #tls: TlsTrust;
  readonly #endpoints = new Map<string, Endpoint>();

  constructor({ maxResponseBytes, clock, trust, tls = {} }: HttpClientOptions) {
    this.#pool = new ConnectionPool(clock, trust);
    this.#max = maxResponseBytes;
    this.#tls = tls;
  }

  /** Whether this client supports the request; `fetch` supports every request. */
  static carries({ body, streams, method }: UpstreamRequest): boolean {
    return typeof body !== "object" && !streams && !method;
  }

  /**
   * Resolves with the result of `take`; rejects with the result of `toError` for NotConnected, ConnectionLost,
   * InvalidHttpResponse, ResponseTooLarge or CallAborted. Both run synchronously within one promise: a promise for each
   * step would cost as much as the steps.
   */
  send<T>(
    request: UpstreamRequest,
    signal: AbortSignal,
    take: (response: ResponseParser) => T,
    toError: (error: unknown) => unknown,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const endpoint = this.#endpointOf(request.url);
      const done = (response: ResponseParser): void => resolve(take(response));
      const fail = (error: unknown): void => reject(toError(error));
      try {
        new Exchange(this.#pool, this.#max, endpoint, request, signal, done, fail).begin();
      } catch (error) {
        fail(error);
      }
    });
  }

  close(): void {
    this.#pool.close();
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

/** One request and its response, on a pooled or a new connection. */
class Exchange implements ResponseHandler {
  readonly pool: ConnectionPool;
  readonly max: number;
  readonly endpoint: Endpoint;
  readonly request: UpstreamRequest;
  readonly signal: AbortSignal;
  readonly resolve: (response: ResponseParser) => void;
  readonly reject: (error: unknown) => void;
  readonly #serialized: string;
  #connection: Connection | undefined;
  /** On a reused connection, which the upstream may have closed just before. */
  #isReused = false;

  constructor(
    pool: ConnectionPool,
    max: number,
    endpoint: Endpoint,
    request: UpstreamRequest,
    signal: AbortSignal,
    resolve: (response: ResponseParser) => void,
    reject: (error: unknown) => void,
  ) {
    this.pool = pool;
    this.max = max;
    this.endpoint = endpoint;
    this.request = request;
    this.signal = signal;
    this.resolve = resolve;
    this.reject = reject;
    this.#serialized = serializeRequest(request, endpoint);
  }

  begin(): void {
    const { signal } = this;
    if (signal.aborted) {
      this.reject(new CallAborted());
      return;
    }
    signal.addEventListener("abort", this.abort);
    // A request that is not idempotent needs a new connection.
    const idle = this.request.once ? undefined : this.pool.takeIdle(this.endpoint.key);
    if (!idle) {
      this.#open();
      return;
    }
    this.#isReused = true;
    this.#send(idle);
  }

  onResponse(response: ResponseParser): void {
    this.#unsubscribe();
    this.pool.release(this.endpoint.key, this.#connection as Connection);
    this.resolve(response);
  }

  onError(error: unknown): void {
    const mayRetry = this.#isReused && error instanceof ConnectionLost && error.silent;
    if (mayRetry && !this.signal.aborted) {
      this.#isReused = false;
      this.#connection = undefined;
      this.#open();
      return;
    }
    this.#unsubscribe();
    this.reject(error);
  }

  readonly abort = (): void => {
    if (this.#connection) this.#connection.fail(new CallAborted());
    else this.onError(new CallAborted());
  };

  #send(connection: Connection): void {
    this.#connection = connection;
    connection.send(this.#serialized, this.max, this);
  }

  #open(): void {
    const { pool, endpoint } = this;
    Connection.open(endpoint, (answered) => pool.onUnsolicited(endpoint.key, answered)).then(
      (connection) => {
        // The request was aborted meanwhile: the connection goes to the pool.
        if (this.signal.aborted) pool.release(endpoint.key, connection);
        else this.#send(connection);
      },
      (error) => {
        if (!this.signal.aborted) this.onError(error);
      },
    );
  }

  #unsubscribe(): void {
    this.signal.removeEventListener("abort", this.abort);
  }
}

/** Only this client sets the headers for the body's length and the connection. */
const ownHeaders = new Set(["content-length", "transfer-encoding", "connection"]);

const lineBreak = /[\r\n\0]/;

function serializeRequest({ headers, body }: UpstreamRequest, { host, path }: Endpoint): string {
  let head = `${body === undefined ? "GET" : "POST"} ${path} HTTP/1.1\r\n`;
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
  return body === undefined
    ? `${head}\r\n`
    : `${head}content-length: ${Buffer.byteLength(body as string)}\r\n\r\n${body as string}`;
}
