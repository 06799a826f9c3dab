/**
 * One HTTP/1.1 connection to an upstream, plain or over TLS, with a connect timeout: one request at a time, with a
 * buffered or a streamed response.
 */
import { isIP } from "node:net";
import { ignoreRejection } from "../../lib/tasks.ts";
import { withTimeout } from "../../lib/timers.ts";
import type { ResponseParser } from "./parse-response.ts";
import { AmbiguousResponse, ConnectionLost, NotConnected } from "./transport-error.ts";
import { isResponse, unsolicitedBytes } from "./unsolicited-bytes.ts";

export interface Address {
  /** A name, or an IP address. */
  readonly hostname: string;
  readonly port: number;
  /** Encrypted with TLS. The default is plain. */
  readonly tls?: TlsTrust;
}

/** Where the server of a URL listens. An IPv6 address has no brackets. */
export const urlAddress = ({ protocol, hostname, port }: URL): Address => ({
  hostname: hostname.replace(/^\[|\]$/g, ""),
  port: Number(port || (protocol === "https:" ? 443 : 80)),
});

export interface TlsTrust {
  /** Certificate authorities to trust instead of the runtime's and those of NODE_EXTRA_CA_CERTS. */
  readonly ca?: string | undefined;
  /** The name that the certificate must be valid for. The default is the hostname. */
  readonly serverName?: string | undefined;
}

export interface ConnectOptions {
  /** Called once if an unsolicited response arrives, with the number of earlier responses. */
  readonly onUnsolicited?: ((responses: number) => void) | undefined;
  /** Timeout of the connection and its TLS handshake. */
  readonly connectMs?: number | undefined;
  readonly connect?: typeof Bun.connect | undefined;
}

/** One request and its response, while they have the connection. */
export interface Exchange {
  readonly response: ResponseParser;
  /** Bytes of the response have been parsed; it may be complete. The exchange then calls `connection.release`. */
  onData(): void;
  /**
   * Called with ConnectionLost, InvalidHttpResponse, ResponseTooLarge, or the argument of `fail`. The connection is
   * closed.
   */
  onError(error: unknown): void;
}

type Socket = Bun.Socket<UpstreamConnection>;

/** Above this length, a socket usually does not accept the whole request in one write. */
const largeRequestLength = 256 * 1024;

/** The connect timeout. A request's own deadline is usually shorter. */
const defaultConnectMs = 30_000;
/** A connection that left the pool stays open this long, so that the event loop decrypts the bytes that wait on it. */
const decryptMs = 1000;

export class UpstreamConnection {
  closed = false;
  /** When it last became idle, in milliseconds. */
  idleSince = 0;
  readonly #secure: boolean;
  readonly #onUnsolicited: ((responses: number) => void) | undefined;
  /** Settled by the TLS handshake. */
  readonly #handshake = Promise.withResolvers<void>();
  #socket: Socket | undefined;
  #exchange: Exchange | undefined;
  /** Bytes that the socket has not accepted yet (backpressure), and the body that is sent after them. */
  #unsent: Uint8Array | undefined;
  #unsentBody: Uint8Array[] = [];
  /** Number of complete responses on this connection. */
  #responses = 0;
  /** It carried another request before this one. */
  #isReused = false;
  /** The response began before the request was written to its end. */
  #isEarly = false;
  #isPaused = false;

  constructor(secure: boolean, onUnsolicited?: (responses: number) => void) {
    this.#secure = secure;
    // Nothing waits for the handshake of a connection that could not be opened.
    ignoreRejection(this.#handshake.promise);
    this.#onUnsolicited = onUnsolicited;
  }

  /** Throws NotConnected. */
  static async open(
    { hostname, port, tls }: Address,
    { onUnsolicited, connectMs = defaultConnectMs, connect = Bun.connect }: ConnectOptions = {},
  ): Promise<UpstreamConnection> {
    const connection = new UpstreamConnection(tls !== undefined, onUnsolicited);
    const connecting = connect<UpstreamConnection>({
      hostname,
      port,
      data: connection,
      socket: tls ? secureHandlers : handlers,
      ...(tls && { tls: tlsOptions(hostname, tls) }),
    }).then(async (socket) => {
      connection.#socket = socket;
      if (connection.closed) socket.terminate();
      else socket.setNoDelay(true);
      if (tls) await connection.#handshake.promise;
      return connection;
    });
    try {
      const connected = await withTimeout(connecting, connectMs);
      if (!connected) throw { code: "ETIMEDOUT" };
      return connected;
    } catch (cause) {
      ignoreRejection(connecting);
      connection.close();
      throw new NotConnected(cause);
    }
  }

  onHandshake(error?: unknown): void {
    if (error === undefined) this.#handshake.resolve();
    else this.#handshake.reject(error);
  }

  /** Whether it can carry another request: it is open, and no bytes wait on it. */
  isReady(): boolean {
    if (this.closed) return false;
    const waiting = unsolicitedBytes(this.#socket as Socket);
    if (waiting === "none") return true;
    if (this.#secure) {
      // Only the event loop can decrypt the bytes: `onData` then finds out whether they are a response.
      setTimeout(() => this.close(), decryptMs).unref();
      return false;
    }
    this.close();
    if (waiting === "unsolicited") this.#onUnsolicited?.(this.#responses);
    return false;
  }

  /** `body`: sent after `request`, where the body is large. */
  send(request: string, exchange: Exchange, body: readonly Uint8Array[] = []): void {
    this.#exchange = exchange;
    this.#isReused = this.#responses > 0;
    this.#isEarly = false;
    // The socket accepts only a part of a large request, so it is encoded once here: the rest need not be encoded
    // again.
    const bytes = request.length < largeRequestLength ? undefined : Buffer.from(request);
    const written = this.closed ? -1 : (this.#socket as Socket).write(bytes ?? request);
    if (written < 0) this.fail(new ConnectionLost(true));
    else if (bytes) this.#unsent = written < bytes.length ? bytes.subarray(written) : undefined;
    // A character is at least one byte: with fewer bytes written than characters, the length in bytes is not needed.
    else if (written < request.length || written < Buffer.byteLength(request)) {
      this.#unsent = Buffer.from(request).subarray(written);
    }
    if (body.length === 0 || this.closed) return;
    this.#unsentBody = [...body];
    this.#unsent ??= this.#unsentBody.shift();
    this.onDrain();
  }

  /** The exchange has read its response. The connection is closed unless it can carry another request. */
  release(): void {
    const response = this.#exchange?.response;
    this.#exchange = undefined;
    const isComplete = response?.done && response.reusable;
    // A response before the request was sent completely: the upstream would read the remaining bytes as the next
    // request. And a paused socket has not yet reported whether the upstream closed it.
    if (!isComplete || this.#unsent || this.#isPaused) this.close();
  }

  /** Aborts the request and closes the connection: later bytes would belong to no request. */
  fail(error: unknown): void {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    this.close();
    exchange?.onError(error);
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.#socket?.terminate();
  }

  /** Stops reading from the socket (backpressure). */
  pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#socket?.pause();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#socket?.resume();
  }

  onData(bytes: Buffer): void {
    const exchange = this.#exchange;
    if (!exchange) {
      this.#refuseUnsolicited(bytes);
      return;
    }
    const { response } = exchange;
    if (response.done) {
      // The response is complete, but the exchange has not read it to its end.
      response.reusable = false;
      if (!response.isCut && isResponse(bytes)) this.#onSurplus();
      return;
    }
    if (this.#unsent && !response.hasBegun) this.#isEarly = true;
    try {
      response.push(bytes);
    } catch (error) {
      this.fail(error);
      return;
    }
    this.#onParsed(exchange);
  }

  #onParsed(exchange: Exchange): void {
    const { status, done, surplus } = exchange.response;
    if (this.#isEarly && status >= 200 && status <= 299) {
      // A server may refuse a request that it has not read to its end; it cannot have completed it.
      this.#refuseAmbiguous("it responded before it had read the request");
      return;
    }
    if (surplus && this.#isReused) {
      this.#onSurplus();
      return;
    }
    if (done) this.#responses++;
    if (surplus) this.#onSurplus();
    exchange.onData();
  }

  /**
   * More than one response came for one request. On a connection that carried an earlier request, the first response
   * may belong to that request and so to another client: none of the responses is delivered.
   */
  #onSurplus(): void {
    if (this.#isReused) this.#refuseAmbiguous("it sent more than one response to a request");
    else this.#onUnsolicited?.(this.#responses);
  }

  #refuseAmbiguous(reason: string): void {
    this.fail(new AmbiguousResponse(reason));
    this.#onUnsolicited?.(this.#responses);
  }

  #refuseUnsolicited(bytes: Buffer): void {
    if (this.closed) return;
    this.close();
    if (isResponse(bytes)) this.#onUnsolicited?.(this.#responses);
  }

  onDrain(): void {
    while (this.#unsent && this.#socket && !this.closed) {
      const rest = this.#unsent;
      const written = Math.max(0, this.#socket.write(rest));
      if (written < rest.length) {
        this.#unsent = rest.subarray(written);
        return;
      }
      this.#unsent = this.#unsentBody.shift();
    }
  }

  onEnd(cause?: unknown): void {
    if (this.#secure) this.onHandshake(cause ?? { code: "ECONNRESET" });
    const exchange = this.#exchange;
    if (exchange) {
      const { response } = exchange;
      const wasDone = response.done;
      response.close();
      if (wasDone) return;
      if (!response.done || cause !== undefined) {
        this.fail(new ConnectionLost(!response.hasBegun, cause));
        return;
      }
      this.#responses++;
      exchange.onData();
    }
    this.close();
  }
}

const handlers: Bun.SocketHandler<UpstreamConnection> = {
  data: ({ data }, bytes) => data.onData(bytes),
  drain: ({ data }) => data.onDrain(),
  end: ({ data }) => data.onEnd(),
  close: ({ data }, error) => data.onEnd(error),
  error: ({ data }, error) => data.onEnd(error),
};

const secureHandlers: Bun.SocketHandler<UpstreamConnection> = {
  ...handlers,
  handshake: ({ data, authorized }, completed, error) =>
    data.onHandshake(completed && authorized ? undefined : (error ?? { code: "ECONNRESET" })),
};

function tlsOptions(hostname: string, { ca, serverName }: TlsTrust): Bun.TLSOptions {
  // RFC 6066: SNI contains names only. Without a name, the certificate is verified against the address.
  const name = serverName ?? (isIP(hostname) === 0 ? hostname : undefined);
  return {
    rejectUnauthorized: true,
    // The length of the name, then the name, as on the wire.
    ALPNProtocols: "\x08http/1.1",
    ...(name !== undefined && { serverName: name }),
    ...(ca !== undefined && { ca }),
  };
}

/** Connects, with a TLS handshake where the address has one, and closes the connection. Rejects with NotConnected. */
export async function checkConnection(address: Address, connectMs: number): Promise<void> {
  const connection = await UpstreamConnection.open(address, { connectMs });
  connection.close();
}
