/**
 * One request with a streamed response, for responses that are too large to buffer. The body is read in the chunks that
 * the socket gives: `fetch` returns chunks of hundreds of kilobytes that become garbage faster than it is collected. No
 * proxy, cookies, redirects or decompression. Given an IP address, it resolves no name, so the address that the SSRF
 * guard checked is the one connected to: a second lookup could return another.
 */
import { type Address, Connection, type Exchange, type OpenOptions } from "./connection.ts";
import type { ConnectionPool } from "./connection-pool.ts";
import { type Head, ResponseParser } from "./parse-response.ts";

export interface StreamedExchangeOptions extends OpenOptions {
  readonly address: Address;
  /** The whole request, head and body. */
  readonly request: string;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /** The pool of its connection. Absent: it has a connection of its own. */
  readonly pool?: { readonly connections: ConnectionPool; readonly key: string };
}

export interface StreamedResponse {
  readonly status: number;
  readonly headers: Head;
  /**
   * The body in chunks as they arrive. Throws ConnectionLost, InvalidHttpResponse, ResponseTooLarge, or the signal's
   * reason.
   */
  chunks(): AsyncGenerator<Uint8Array>;
  close(): void;
}

/** Backpressure: above this many buffered bytes the socket is paused until the reader catches up. */
const maxBufferedBytes = 64 * 1024;

export class StreamedExchange implements Exchange, StreamedResponse {
  readonly #options: StreamedExchangeOptions;
  readonly response: ResponseParser;
  readonly #head = Promise.withResolvers<StreamedResponse>();
  #connection: Connection | undefined;
  #chunks: Uint8Array[] = [];
  #bufferedBytes = 0;
  #failure: { readonly error: unknown } | undefined;
  /** Wakes the reader of the body. */
  #wake: (() => void) | undefined;

  constructor(options: StreamedExchangeOptions) {
    this.#options = options;
    this.response = new ResponseParser(options.maxBytes, (chunk) => this.#buffer(chunk));
  }

  get status(): number {
    return this.response.status;
  }

  get headers(): Head {
    return this.response.headers;
  }

  /** Resolves at the end of the head. Rejects as `chunks` throws, or with NotConnected. */
  begin(): Promise<StreamedResponse> {
    const { signal, pool, address } = this.#options;
    if (signal.aborted) return Promise.reject(signal.reason);
    signal.addEventListener("abort", this.#abort);
    const idle = pool?.connections.takeIdle(pool.key);
    if (idle) this.#send(idle);
    else {
      const opening = pool
        ? pool.connections.open(pool.key, address)
        : Connection.open(address, this.#options);
      opening.then(
        (connection) => {
          if (this.#failure) connection.close();
          else this.#send(connection);
        },
        (error) => this.onError(error),
      );
    }
    return this.#head.promise;
  }

  #send(connection: Connection): void {
    this.#connection = connection;
    connection.send(this.#options.request, this);
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

  /** The connection is reused if the response was read to its end. */
  close(): void {
    const { signal, pool } = this.#options;
    signal.removeEventListener("abort", this.#abort);
    const connection = this.#connection;
    this.#connection = undefined;
    if (!connection) return;
    connection.release();
    if (pool && !this.#failure) pool.connections.release(pool.key, connection);
    else connection.close();
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
