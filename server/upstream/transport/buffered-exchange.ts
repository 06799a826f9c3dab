/** One request with a buffered response, on a pooled or a new connection. */
import type { LargeJson } from "../../lib/large-json.ts";
import type { Connection, Exchange } from "./connection.ts";
import { AmbiguousResponse, CallAborted, ConnectionLost } from "./connection-error.ts";
import type { ConnectionPool } from "./connection-pool.ts";
import { ResponseParser } from "./parse-response.ts";
import type { Endpoint } from "./serialize-request.ts";

export interface BufferedExchangeOptions {
  readonly pool: ConnectionPool;
  readonly endpoint: Endpoint;
  readonly request: string;
  /** A large body, which is sent after `request` and then freed. */
  readonly body?: LargeJson;
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
  #connection: Connection | undefined;
  /** On a reused connection, which the upstream may have closed just before. */
  #isReused = false;

  constructor(options: BufferedExchangeOptions) {
    this.#options = options;
    this.response = new ResponseParser(options.maxBytes);
  }

  begin(): void {
    const { signal, mayReuse, pool, endpoint } = this.#options;
    if (signal.aborted) {
      this.#end();
      throw new CallAborted();
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
    const connection = this.#connection as Connection;
    this.#end();
    connection.release();
    pool.release(endpoint.key, connection);
    resolve(this.response);
  }

  onError(error: unknown): void {
    const wasReuse =
      error instanceof AmbiguousResponse || (error instanceof ConnectionLost && error.silent);
    if (this.#isReused && wasReuse && !this.#options.signal.aborted) {
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
    if (this.#connection) this.#connection.fail(new CallAborted());
    else this.onError(new CallAborted());
  };

  #send(connection: Connection): void {
    this.#connection = connection;
    connection.send(this.#options.request, this, this.#options.body);
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
    this.#options.body?.free();
  }
}
