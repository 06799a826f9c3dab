/** One request and its response, on a pooled or a new connection: with a buffered response, or with a streamed one. */
import {
  type Address,
  type ConnectOptions,
  type Exchange,
  UpstreamConnection,
} from "./connection.ts";
import type { ConnectionPool } from "./connection-pool.ts";
import { type Head, ResponseParser } from "./parse-response.ts";
import { AmbiguousResponse, ConnectionLost, RequestAborted } from "./transport-error.ts";
import type { BodyInMemory } from "./upload-memory.ts";

export interface UpstreamEndpoint extends Address {
  /** The key of its connections in the pool. */
  readonly key: string;
  readonly host: string;
  readonly path: string;
}

interface BufferedExchangeOptions {
  readonly pool: ConnectionPool;
  readonly endpoint: UpstreamEndpoint;
  readonly request: string;
  /** A large body, which is sent after `request` and then released. */
  readonly body?: Pick<BodyInMemory, "chunks" | "release">;
  /** May be sent on a connection that carried another request, and again if that connection was lost. */
  readonly mayReuse: boolean;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  readonly resolve: (response: ResponseParser) => void;
  readonly reject: (error: unknown) => void;
}

export class BufferedExchange implements Exchange {
  readonly #options: BufferedExchangeOptions;
  response: ResponseParser;
  #connection: UpstreamConnection | undefined;
  /** The request was sent on a reused connection, which the upstream may have closed just before. */
  #isReused = false;

  constructor(options: BufferedExchangeOptions) {
    this.#options = options;
    this.response = new ResponseParser(options.maxBytes);
  }

  begin(): void {
    const { signal, mayReuse, pool, endpoint } = this.#options;
    if (signal.aborted) {
      this.#end();
      throw new RequestAborted();
    }
    signal.addEventListener("abort", this.#abort);
    const idle = mayReuse ? pool.takeIdle(endpoint.key) : undefined;
    if (!idle) {
      this.#open();
      return;
    }
    this.#isReused = true;
    this.#send(idle);
  }

  onData(): void {
    if (!this.response.done) return;
    const { pool, endpoint, resolve } = this.#options;
    const connection = this.#connection as UpstreamConnection;
    this.#end();
    connection.release();
    pool.release(endpoint.key, connection);
    resolve(this.response);
  }

  onError(error: unknown): void {
    const isDueToReuse =
      error instanceof AmbiguousResponse || (error instanceof ConnectionLost && error.silent);
    if (this.#isReused && isDueToReuse && !this.#options.signal.aborted) {
      this.#isReused = false;
      this.#connection = undefined;
      this.response = new ResponseParser(this.#options.maxBytes);
      this.#open();
      return;
    }
    this.#end();
    this.#options.reject(error);
  }

  readonly #abort = (): void => {
    if (this.#connection) this.#connection.fail(new RequestAborted());
    else this.onError(new RequestAborted());
  };

  #send(connection: UpstreamConnection): void {
    this.#connection = connection;
    connection.send(this.#options.request, this, this.#options.body?.chunks);
  }

  #open(): void {
    const { pool, endpoint, signal } = this.#options;
    pool.open(endpoint.key, endpoint).then(
      (connection) => {
        // The request was aborted meanwhile: the connection goes to the pool.
        if (signal.aborted) pool.release(endpoint.key, connection);
        else this.#send(connection);
      },
      (error) => {
        if (!signal.aborted) this.onError(error);
      },
    );
  }

  #end(): void {
    this.#options.signal.removeEventListener("abort", this.#abort);
    this.#options.body?.release?.();
  }
}

export interface StreamRequest extends ConnectOptions {
  readonly address: Address;
  /** The whole request, head and body. */
  readonly request: string;
  /** A large body, which is sent after `request`. */
  readonly body?: readonly Uint8Array[];
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

/**
 * Sends a request to an address, on a connection of its own. Rejects with NotConnected, ConnectionLost,
 * InvalidHttpResponse, ResponseTooLarge, or the signal's reason.
 */
export const openStream = (request: StreamRequest): Promise<StreamedResponse> =>
  new StreamedExchange(request).begin();

export interface StreamedResponse {
  readonly status: number;
  readonly headers: Head;
  readonly mayReportExhaustedLimit: boolean;
  /**
   * The body in chunks as they arrive. Throws ConnectionLost, InvalidHttpResponse, ResponseTooLarge, or the signal's
   * reason.
   */
  chunks(): AsyncGenerator<Uint8Array>;
  close(): void;
}

/** Backpressure: above this many buffered bytes the socket is paused until the reader catches up. */
const maxBufferedBytes = 64 * 1024;

/**
 * One request with a streamed response, for responses that are too large to buffer. The body is read in the chunks that
 * the socket delivers: `fetch` returns chunks of hundreds of kilobytes that become garbage faster than it is collected.
 * No proxy, cookies, redirects or decompression. Given an IP address, it resolves no name, so the address that the SSRF
 * guard checked is the one connected to: a second lookup could return another.
 */
class StreamedExchange implements Exchange, StreamedResponse {
  readonly #options: StreamRequest;
  readonly response: ResponseParser;
  readonly #head = Promise.withResolvers<StreamedResponse>();
  #connection: UpstreamConnection | undefined;
  #chunks: Uint8Array[] = [];
  #bufferedBytes = 0;
  #failure: { readonly error: unknown } | undefined;
  /** Wakes the reader of the body. */
  #wake: (() => void) | undefined;

  constructor(options: StreamRequest) {
    this.#options = options;
    this.response = new ResponseParser(options.maxBytes, (chunk) => this.#buffer(chunk));
  }

  get status(): number {
    return this.response.status;
  }

  get headers(): Head {
    return this.response.headers;
  }

  get mayReportExhaustedLimit(): boolean {
    return this.response.mayReportExhaustedLimit;
  }

  /** Resolves at the end of the head. Rejects as `chunks` throws, or with NotConnected. */
  begin(): Promise<StreamedResponse> {
    const { signal, address, request, body } = this.#options;
    if (signal.aborted) return Promise.reject(signal.reason);
    signal.addEventListener("abort", this.#abort);
    UpstreamConnection.open(address, this.#options).then(
      (connection) => {
        if (this.#failure) connection.close();
        else {
          this.#connection = connection;
          connection.send(request, this, body);
        }
      },
      (error) => this.onError(error),
    );
    return this.#head.promise;
  }

  onData(): void {
    if (this.status !== 0) this.#head.resolve(this);
    this.#wake?.();
  }

  onError(error: unknown): void {
    this.#failure ??= { error };
    this.#head.reject(error);
    this.#wake?.();
    this.close();
  }

  close(): void {
    this.#options.signal.removeEventListener("abort", this.#abort);
    const connection = this.#connection;
    this.#connection = undefined;
    connection?.release();
    connection?.close();
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const chunk = this.#chunks.shift();
        if (chunk) {
          this.#bufferedBytes -= chunk.length;
          yield chunk;
        } else if (this.#failure) throw this.#failure.error;
        else if (this.response.done) return;
        else await this.#waitForData();
      }
    } finally {
      this.close();
    }
  }

  #waitForData(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    this.#connection?.resume();
    return promise;
  }

  #buffer(chunk: Buffer): void {
    // A reader that keeps up has consumed all earlier chunks: pausing for each chunk would cost more than reading it.
    const isBehind = this.#bufferedBytes > 0;
    this.#chunks.push(chunk);
    this.#bufferedBytes += chunk.length;
    if (isBehind && this.#bufferedBytes >= maxBufferedBytes) this.#connection?.pause();
  }

  readonly #abort = (): void => this.onError(this.#options.signal.reason);
}
