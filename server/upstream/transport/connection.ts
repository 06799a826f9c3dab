/** One HTTP/1.1 connection to an upstream, plain or over TLS: one request at a time, with a buffered response. */
import { isIP } from "node:net";
import { errorCode } from "../../lib/error-code.ts";
import { ignoreRejection } from "../../lib/ignore-rejection.ts";
import { InvalidHttpResponse, ResponseParser } from "./parse-response.ts";
import { isResponse, unsolicitedBytes } from "./unsolicited-bytes.ts";

export interface Address {
  readonly hostname: string;
  readonly port: number;
  /** Encrypted with TLS; the certificate must be valid for `hostname`. Absent: plain. */
  readonly tls?: TlsTrust;
}

export interface TlsTrust {
  /** Certificate authorities to trust instead of the runtime's and those of NODE_EXTRA_CA_CERTS. */
  readonly ca?: string;
}

/** Receives the outcome of a request: exactly one of the two is called, once. */
export interface ResponseHandler {
  onResponse(response: ResponseParser): void;
  /** With ConnectionLost, InvalidHttpResponse, ResponseTooLarge, or the argument of `fail`. */
  onError(error: unknown): void;
}

/** No connection was made, so nothing was sent. */
export class NotConnected extends Error {
  override readonly name = "NotConnected";
  readonly code: string;

  constructor(cause: unknown) {
    super("no connection", { cause });
    this.code = errorCode(cause);
  }
}

/**
 * The connection ended before the response was complete, or before a response that certainly belongs to the request.
 */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
  /** No byte of the response had arrived. */
  readonly silent: boolean;

  constructor(silent: boolean, cause?: unknown) {
    super("the connection broke", { cause });
    this.silent = silent;
  }
}

type Socket = Bun.Socket<Connection>;

/** Above this length, a socket usually does not accept the whole request in one write. */
const largeRequestLength = 256 * 1024;

/** Timeout of a TLS handshake; a request's own deadline is usually shorter. */
const handshakeMs = 30_000;
/** A connection that left the pool stays open this long, so that the event loop decrypts the bytes that wait on it. */
const decryptMs = 1000;

export class Connection {
  closed = false;
  readonly #secure: boolean;
  /** Settled by the TLS handshake. */
  readonly #handshake = Promise.withResolvers<void>();
  /** When it last became idle, in milliseconds. */
  idleSince = 0;
  #socket: Socket | undefined;
  #handler: ResponseHandler | undefined;
  #response: ResponseParser | undefined;
  /** Bytes that the socket has not accepted yet (backpressure). */
  #unsent: Buffer | undefined;
  /** Number of requests with a response on this connection. */
  #responses = 0;
  /** The response began before the request was written to its end. */
  #isEarly = false;
  readonly #onUnsolicited: (responses: number) => void;

  constructor(secure: boolean, onUnsolicited: (responses: number) => void) {
    this.#secure = secure;
    // Nothing waits for the handshake of a connection that could not be opened.
    ignoreRejection(this.#handshake.promise);
    this.#onUnsolicited = onUnsolicited;
  }

  /** `onUnsolicited`: called once if an unsolicited response arrives, with the number of earlier responses. */
  static async open(
    { hostname, port, tls }: Address,
    onUnsolicited: (responses: number) => void,
  ): Promise<Connection> {
    const connection = new Connection(tls !== undefined, onUnsolicited);
    try {
      connection.#socket = await Bun.connect<Connection>({
        hostname,
        port,
        data: connection,
        socket: tls ? secureHandlers : handlers,
        ...(tls && { tls: tlsOptions(hostname, tls) }),
      });
      connection.#socket.setNoDelay(true);
      if (tls) await connection.#waitForHandshake();
      return connection;
    } catch (cause) {
      connection.close();
      throw new NotConnected(cause);
    }
  }

  onHandshake(error?: unknown): void {
    if (error === undefined) this.#handshake.resolve();
    else this.#handshake.reject(error);
  }

  async #waitForHandshake(): Promise<void> {
    const timer = setTimeout(() => this.onHandshake({ code: "ETIMEDOUT" }), handshakeMs);
    try {
      await this.#handshake.promise;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Whether it can carry another request: it is open, and no bytes wait on it. */
  isReady(): boolean {
    if (this.closed) return false;
    const waiting = unsolicitedBytes(this.#socket as Socket);
    if (waiting === "none") return true;
    if (this.#secure) {
      // Only the event loop can decrypt the bytes: `take` then finds out whether they are a response.
      setTimeout(() => this.close(), decryptMs).unref();
      return false;
    }
    this.close();
    if (waiting === "unsolicited") this.#onUnsolicited(this.#responses);
    return false;
  }

  send(request: string, maxBytes: number, handler: ResponseHandler): void {
    this.#handler = handler;
    this.#response = new ResponseParser(maxBytes);
    this.#isEarly = false;
    // The socket accepts only a part of a large request: it is encoded here, or the rest would be encoded again.
    const bytes = request.length < largeRequestLength ? undefined : Buffer.from(request);
    const written = this.closed ? -1 : (this.#socket as Socket).write(bytes ?? request);
    if (written < 0) this.fail(new ConnectionLost(true));
    else if (bytes) this.#unsent = written < bytes.length ? bytes.subarray(written) : undefined;
    // Every character is at least one byte: only a long request has to be measured.
    else if (written < request.length || written < Buffer.byteLength(request)) {
      this.#unsent = Buffer.from(request).subarray(written);
    }
  }

  /** Aborts the request and closes the connection: later bytes would belong to no request. */
  fail(error: unknown): void {
    const handler = this.#handler;
    this.#handler = undefined;
    this.close();
    handler?.onError(error);
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.#socket?.terminate();
  }

  receive(piece: Buffer): void {
    const handler = this.#handler;
    const response = this.#response as ResponseParser;
    if (!handler) {
      this.#refuseUnsolicited(piece);
      return;
    }
    if (this.#unsent && !response.hasBegun) this.#isEarly = true;
    try {
      response.push(piece);
    } catch (error) {
      this.fail(error);
      return;
    }
    if (response.done) this.#finish(handler, response);
  }

  onDrain(): void {
    const rest = this.#unsent;
    if (!rest || !this.#socket) return;
    const written = this.#socket.write(rest);
    this.#unsent = written < rest.length ? rest.subarray(Math.max(0, written)) : undefined;
  }

  onEnd(cause?: unknown): void {
    const handler = this.#handler;
    const response = this.#response;
    if (this.#secure) this.onHandshake(cause ?? { code: "ECONNRESET" });
    if (handler && response) {
      response.close();
      if (response.done && cause === undefined) this.#finish(handler, response);
      else this.fail(new ConnectionLost(!response.hasBegun, cause));
    }
    this.close();
  }

  #refuseUnsolicited(piece: Buffer): void {
    if (this.closed) return;
    this.close();
    if (isResponse(piece)) this.#onUnsolicited(this.#responses);
  }

  /**
   * Two responses to one request: on a reused connection, the first may belong to an earlier request. And a server
   * cannot have completed a request that it has not read to its end, though it may refuse it.
   */
  #isAmbiguous({ surplus, status }: ResponseParser): boolean {
    return (surplus && this.#responses > 0) || (this.#isEarly && status >= 200 && status <= 299);
  }

  #finish(handler: ResponseHandler, response: ResponseParser): void {
    if (this.#isAmbiguous(response)) {
      const isFirst = this.#responses === 0;
      const message = "it responded before it had read the request";
      this.fail(isFirst ? new InvalidHttpResponse(message) : new ConnectionLost(true));
      this.#onUnsolicited(this.#responses);
      return;
    }
    this.#responses += 1;
    this.#handler = undefined;
    this.#response = undefined;
    if (response.surplus) this.#onUnsolicited(this.#responses);
    // A response before the request was sent completely: the upstream would read the remaining bytes as the next
    // request.
    if (!response.reusable || this.#unsent) this.close();
    handler.onResponse(response);
  }
}

const handlers: Bun.SocketHandler<Connection> = {
  data: ({ data }, piece) => data.receive(piece),
  drain: ({ data }) => data.onDrain(),
  end: ({ data }) => data.onEnd(),
  close: ({ data }, error) => data.onEnd(error),
  error: ({ data }, error) => data.onEnd(error),
};

const secureHandlers: Bun.SocketHandler<Connection> = {
  ...handlers,
  handshake: ({ data, authorized }, completed, error) =>
    data.onHandshake(completed && authorized ? undefined : (error ?? { code: "ECONNRESET" })),
};

const tlsOptions = (hostname: string, { ca }: TlsTrust): Bun.TLSOptions => ({
  rejectUnauthorized: true,
  // The length of the name, then the name, as on the wire.
  ALPNProtocols: "\x08http/1.1",
  // RFC 6066: SNI holds names only. Without one, the certificate is verified against the address.
  ...(isIP(hostname) === 0 && { serverName: hostname }),
  ...(ca !== undefined && { ca }),
});
