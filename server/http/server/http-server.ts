/**
 * The interface of the HTTP server: all that the rest of the gateway knows of it. `socket-server.ts` implements it on
 * Bun's sockets; another transport, such as one on `Bun.serve`, would implement the same promises.
 */
import { GatewayError } from "../../lib/gateway-error.ts";
import type { RequestClient } from "../../request/deadline.ts";
import type { OutgoingResponse, RequestHeaders } from "../../request/http-types.ts";

export interface HttpServerOptions {
  readonly host: string;
  /** Several processes listen on the port, and the operating system spreads connections over them (SO_REUSEPORT). */
  readonly reusePort: boolean;
  /** 0: a free port. */
  readonly port: number;
  /**
   * Serves HTTPS (TLS 1.2 or later, HTTP/1.1) with these credentials. Called for each new connection, so that a renewed
   * certificate applies to the next connection and no open one is closed. If absent, plain HTTP.
   */
  readonly tls?: () => TlsCredentials;
  readonly limits: ServerLimits;
  /**
   * Handles a request: called as soon as its head has arrived, once per request, and for the requests of one connection
   * one after the other. Never rejects. The server sends the response no faster than the client reads it, and closes
   * its body on every exit: sent, client disconnected, or not needed (HEAD).
   */
  onRequest(request: ServerRequest): Promise<OutgoingResponse>;
  /** The response to bytes that are not a valid request. The server closes the connection after it. */
  refuse(error: GatewayError, remoteAddress?: string): OutgoingResponse;
  /** The response to a connection beyond the maximum. Called for each such connection, so it must be cheap. */
  refuseConnection(): OutgoingResponse;
  /** Whether this path is served on a connection beyond the maximum. */
  isProbe(path: string): boolean;
  /** Called every few seconds at most, while connections are refused or evicted. */
  onConnectionsRefused(report: ConnectionReport): void;
  /**
   * Called with an internal error that broke off a response. The server resets that connection and serves the others.
   */
  onError(error: unknown): void;
  /** Milliseconds, monotonic. */
  clock(): number;
}

/** In PEM format. */
interface TlsCredentials {
  /** The certificate, followed by the intermediate certificates. */
  readonly cert: string;
  /** The private key of the certificate. */
  readonly key: string;
}

export interface ServerLimits {
  /** Open connections, including idle ones and those in a TLS handshake. */
  readonly maxConnections: number;
  /** Timeout for more bytes of a request body that is discarded. Readers of a body have their own timeout. */
  readonly bodyMs: number;
  /** Timeout of an idle connection. */
  readonly idleMs: number;
}

export interface HttpServer {
  readonly port: number;
  /** Requests whose response has not been written to the last byte. */
  pending(): number;
  connections(): ConnectionCounts;
  /** From now on each response closes its connection, so that keep-alive clients connect elsewhere. */
  beginStop(): void;
  /**
   * Accepts no new connections and closes idle ones; resolves when the open ones are closed. `now`: resets those with a
   * request in flight, and gives the clients of the others a short time to close.
   */
  stop(now: boolean): Promise<void>;
}

export interface ServerRequest extends RequestClient {
  readonly head: RequestHead;
  /** The IP address of the client, or of the proxy in front. */
  readonly remoteAddress: string;
  readonly body: RequestBody;
}

export interface RequestHead extends RequestHeaders {
  readonly method: string;
  /** As it was sent: still percent-encoded, without a trailing slash. */
  readonly path: string;
  /** The query string with its question mark. Empty without one. */
  readonly search: string;
  /** All headers, with names in lower case. A repeated header occurs several times. */
  entries(): Iterable<readonly [string, string]>;
}

/**
 * The body of a request, decoded from its framing. The server stops reading from the client while the body is not read.
 */
export interface RequestBody {
  /** The whole body, if it has arrived: most bodies arrive with their heads. */
  whole(): Buffer | undefined;
  /**
   * The next chunk; undefined at the end. There is one reader, and it waits for one chunk at a time. Rejects if the
   * rest will not arrive. The reader owns the chunk, and may free its memory.
   */
  next(): Promise<Buffer | undefined>;
}

export interface ConnectionCounts {
  readonly open: number;
  readonly max: number;
  /** Refused connections since the start. */
  readonly refused: number;
  /** Idle connections that were closed to free capacity for another, since the start. */
  readonly evicted: number;
}

/** For the log: what happened since the last report. */
interface ConnectionReport extends ConnectionCounts {
  /** The process has no file descriptor left. */
  readonly outOfDescriptors: boolean;
}

/** The error that the reader of a body gets if the rest of the body will not arrive. */
export const incompleteBody = (cause?: unknown): GatewayError =>
  new GatewayError("incomplete_body", "The body ended before it was complete.", { cause });
