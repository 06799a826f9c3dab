/** One connection to an upstream, plain or over TLS: one request at a time, its response taken whole. */
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
  answered(answer: ResponseParser): void;
  /** With ConnectionLost, InvalidHttpResponse, ResponseTooLarge, or the argument of `fail`. */
  failed(error: unknown): void;
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

/** The connection ended before the response was complete, or before a response that certainly belongs to the request. */
export class ConnectionLost extends Error {
  override readonly name = "BrokenOff";
  /** No byte of the response had arrived. */
  readonly silent: boolean;

  constructor(silent: boolean, cause?: unknown) {
    super("the connection broke", { cause });
    this.silent = silent;
  }
}

type Socket = Bun.Socket<Connection>;

/** More characters than a socket's buffer takes at once. */
const longRequest = 256 * 1024;

/** How long a TLS handshake may take; a request's own deadline is usually shorter. */
const handshakeMs = 30_000;
/** How long a connection that left the pool stays open, so that the event loop decrypts the bytes that wait on it. */
const decryptMs = 1000;

export class Connection {
  closed = false;
  readonly #secure: boolean;
  /** Settled by the TLS handshake. */
  readonly #handshake = Promise.withResolvers<void>();
  /** When it last became idle, in milliseconds. */
  idleSince = 0;
  #socket: Socket | undefined;
  #asker: ResponseHandler | undefined;
  #answer: ResponseParser | undefined;
  /** Bytes that the socket has not accepted yet (backpressure). */
  #unsent: Buffer | undefined;
  /** Number of requests with a response on this connection. */
  #answered = 0;
  /** The response began before the request was written to its end. */
  #isEarly = false;
  readonly #onUnsolicited: (answered: number) => void;

  constructor(secure: boolean, onUnsolicited: (answered: number) => void) {
    this.#secure = secure;
    // Nothing waits for the handshake of a connection that could not be opened.
    ignoreRejection(this.#handshake.promise);
    this.#onUnsolicited = onUnsolicited;
  }

  /** `onUnsolicited`: told once, when bytes come that no request asked for, with how many requests were answered before. */
  static async open(
    { hostname, port, tls }: Address,
    onUnsolicited: (answered: number) => void,
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
      if (tls) await connection.#handshaken();
      return connection;
    } catch (cause) {
      connection.close();
      throw new NotConnected(cause);
    }
  }

  handshaken(error?: unknown): void {
    if (error === undefined) this.#handshake.resolve();
    else this.#handshake.reject(error);
  }

  async #handshaken(): Promise<void> {
    const timer = setTimeout(() => this.handshaken({ code: "ETIMEDOUT" }), handshakeMs);
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
    if (waiting === "unsolicited") this.#onUnsolicited(this.#answered);
    return false;
  }

  ask(request: string, maxBytes: number, asker: ResponseHandler): void {
    this.#asker = asker;
    this.#answer = new ResponseParser(maxBytes);
    this.#isEarly = false;
    // The socket takes a part of a long request at once: it is encoded here, or the rest would be encoded again.
    const bytes = request.length < longRequest ? undefined : Buffer.from(request);
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
    const asker = this.#asker;
    this.#asker = undefined;
    this.close();
    asker?.failed(error);
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.#socket?.terminate();
  }

  take(piece: Buffer): void {
    const asker = this.#asker;
    const answer = this.#answer as ResponseParser;
    if (!asker) {
      this.#refuseUnsolicited(piece);
      return;
    }
    if (this.#unsent && !answer.begun) this.#isEarly = true;
    try {
      answer.push(piece);
    } catch (error) {
      this.fail(error);
      return;
    }
    if (answer.done) this.#finish(asker, answer);
  }

  drained(): void {
    const rest = this.#unsent;
    if (!rest || !this.#socket) return;
    const written = this.#socket.write(rest);
    this.#unsent = written < rest.length ? rest.subarray(Math.max(0, written)) : undefined;
  }

  ended(cause?: unknown): void {
    const asker = this.#asker;
    const answer = this.#answer;
    if (this.#secure) this.handshaken(cause ?? { code: "ECONNRESET" });
    if (asker && answer) {
      answer.close();
      if (answer.done && cause === undefined) this.#finish(asker, answer);
      else this.fail(new ConnectionLost(!answer.begun, cause));
    }
    this.close();
  }

  #refuseUnsolicited(piece: Buffer): void {
    if (this.closed) return;
    this.close();
    if (isResponse(piece)) this.#onUnsolicited(this.#answered);
  }

  /**
   * Two responses for one request: on a connection that carried requests before, the first of them may belong to one of
   * those. And no server can have done a request that it has not read to its end, though it may refuse one.
   */
  #isDoubtful({ surplus, status }: ResponseParser): boolean {
    return (surplus && this.#answered > 0) || (this.#isEarly && status >= 200 && status <= 299);
  }

  #finish(asker: ResponseHandler, answer: ResponseParser): void {
    if (this.#isDoubtful(answer)) {
      const isFirst = this.#answered === 0;
      const words = "it answered before it had read the request";
      this.fail(isFirst ? new InvalidHttpResponse(words) : new ConnectionLost(true));
      this.#onUnsolicited(this.#answered);
      return;
    }
    this.#answered += 1;
    this.#asker = undefined;
    this.#answer = undefined;
    if (answer.surplus) this.#onUnsolicited(this.#answered);
    // A response before the request was sent completely: the upstream would read the remaining bytes as the next request.
    if (!answer.reusable || this.#unsent) this.close();
    asker.answered(answer);
  }
}

const handlers: Bun.SocketHandler<Connection> = {
  data: ({ data }, piece) => data.take(piece),
  drain: ({ data }) => data.drained(),
  end: ({ data }) => data.ended(),
  close: ({ data }, error) => data.ended(error),
  error: ({ data }, error) => data.ended(error),
};

const secureHandlers: Bun.SocketHandler<Connection> = {
  ...handlers,
  handshake: ({ data, authorized }, completed, error) =>
    data.handshaken(completed && authorized ? undefined : (error ?? { code: "ECONNRESET" })),
};

const tlsOptions = (hostname: string, { ca }: TlsTrust): Bun.TLSOptions => ({
  rejectUnauthorized: true,
  // The length of the name, then the name, as on the wire.
  ALPNProtocols: "\x08http/1.1",
  // RFC 6066: SNI holds names only. Without one, the certificate is verified against the address.
  ...(isIP(hostname) === 0 && { serverName: hostname }),
  ...(ca !== undefined && { ca }),
});
