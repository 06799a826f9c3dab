/**
 * A small HTTP/1.1 client with a connection pool, plain or over TLS, for responses that are taken whole: embeddings. It
 * costs half of what `fetch` does, which goes through another thread; it knows whether a broken request had reached the
 * upstream at all; and unlike the pool of `fetch`, it notices responses that no request asked for.
 */
import type { AbortSignalLike } from "../../lib/abort-signal.ts";
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
  readonly maxAnswerBytes: number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  readonly trust: KeepAliveTrust;
  /** How upstreams over `https://` are verified. */
  readonly tls?: TlsTrust;
}

interface Place extends Address {
  /** The key of its connections in the pool. */
  readonly key: string;
  readonly host: string;
  readonly path: string;
}

/** The caller aborted the request. */
export class CallAborted extends Error {
  override readonly name = "GivenUp";
}

export class HttpClient {
  readonly #pool: ConnectionPool;
  readonly #max: number;
  readonly #tls: TlsTrust;
  readonly #places = new Map<string, Place>();

  constructor({ maxAnswerBytes, clock, trust, tls = {} }: HttpClientOptions) {
    this.#pool = new ConnectionPool(clock, trust);
    this.#max = maxAnswerBytes;
    this.#tls = tls;
  }

  /** Whether this client supports the request; `fetch` supports every request. */
  static carries({ body, streams, method }: UpstreamRequest): boolean {
    return typeof body !== "object" && !streams && !method;
  }

  /**
   * Resolves with the result of `take`; rejects with the result of `tell` for NotConnected, ConnectionLost,
   * InvalidHttpResponse, ResponseTooLarge or CallAborted. Both run synchronously within one promise: a promise for each
   * step would cost as much as the steps.
   */
  ask<T>(
    request: UpstreamRequest,
    signal: AbortSignalLike,
    take: (answer: ResponseParser) => T,
    tell: (error: unknown) => unknown,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const place = this.#placeOf(request.url);
      const done = (answer: ResponseParser): void => resolve(take(answer));
      const fail = (error: unknown): void => reject(tell(error));
      try {
        new Exchange(this.#pool, this.#max, place, request, signal, done, fail).begin();
      } catch (error) {
        fail(error);
      }
    });
  }

  close(): void {
    this.#pool.close();
  }

  /** Addresses come from the configuration, so there are few; the map is bounded nevertheless. */
  #placeOf(url: string): Place {
    const known = this.#places.get(url);
    if (known) return known;
    const { protocol, hostname, port, host, pathname, search } = new URL(url);
    const secure = protocol === "https:";
    const place: Place = {
      hostname: hostname.replace(/^\[|\]$/g, ""),
      port: port === "" ? (secure ? 443 : 80) : Number(port),
      ...(secure && { tls: this.#tls }),
      key: secure ? `https://${host}` : host,
      host,
      path: pathname + search,
    };
    if (this.#places.size >= 1000) this.#places.clear();
    this.#places.set(url, place);
    return place;
  }
}

/** One request and its response, on a pooled or a new connection. */
class Exchange implements ResponseHandler {
  readonly pool: ConnectionPool;
  readonly max: number;
  readonly place: Place;
  readonly request: UpstreamRequest;
  readonly signal: AbortSignalLike;
  readonly resolve: (answer: ResponseParser) => void;
  readonly reject: (error: unknown) => void;
  readonly #text: string;
  #connection: Connection | undefined;
  /** On a reused connection, which the upstream may have closed just before. */
  #onKept = false;

  constructor(
    pool: ConnectionPool,
    max: number,
    place: Place,
    request: UpstreamRequest,
    signal: AbortSignalLike,
    resolve: (answer: ResponseParser) => void,
    reject: (error: unknown) => void,
  ) {
    this.pool = pool;
    this.max = max;
    this.place = place;
    this.request = request;
    this.signal = signal;
    this.resolve = resolve;
    this.reject = reject;
    this.#text = written(request, place);
  }

  begin(): void {
    const { signal } = this;
    if (signal.aborted) {
      this.reject(new CallAborted());
      return;
    }
    signal.addEventListener("abort", this.giveUp);
    // A request that is not idempotent needs a new connection.
    const kept = this.request.once ? undefined : this.pool.idle(this.place.key);
    if (!kept) {
      this.#open();
      return;
    }
    this.#onKept = true;
    this.#ask(kept);
  }

  answered(answer: ResponseParser): void {
    this.#leave();
    this.pool.keep(this.place.key, this.#connection as Connection);
    this.resolve(answer);
  }

  failed(error: unknown): void {
    const again = this.#onKept && error instanceof ConnectionLost && error.silent;
    if (again && !this.signal.aborted) {
      this.#onKept = false;
      this.#connection = undefined;
      this.#open();
      return;
    }
    this.#leave();
    this.reject(error);
  }

  readonly giveUp = (): void => {
    if (this.#connection) this.#connection.fail(new CallAborted());
    else this.failed(new CallAborted());
  };

  #ask(connection: Connection): void {
    this.#connection = connection;
    connection.ask(this.#text, this.max, this);
  }

  #open(): void {
    const { pool, place } = this;
    Connection.open(place, (answered) => pool.unsolicited(place.key, answered)).then(
      (connection) => {
        // The request was aborted meanwhile: the connection goes to the pool.
        if (this.signal.aborted) pool.keep(place.key, connection);
        else this.#ask(connection);
      },
      (error) => {
        if (!this.signal.aborted) this.failed(error);
      },
    );
  }

  #leave(): void {
    this.signal.removeEventListener("abort", this.giveUp);
  }
}

/** Only this client sets the headers for the body's length and the connection. */
const ours = new Set(["content-length", "transfer-encoding", "connection"]);

const lineBreak = /[\r\n\0]/;

function written({ headers, body }: UpstreamRequest, { host, path }: Place): string {
  let head = `${body === undefined ? "GET" : "POST"} ${path} HTTP/1.1\r\n`;
  for (const name in headers) {
    if (ours.has(name)) continue;
    const value = headers[name] as string;
    // Configured ones hold none; one that was fetched, such as a token, might.
    if (lineBreak.test(value)) throw new NotConnected(new Error(`${name} holds a line break`));
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
