/**
 * A streaming call on its own connection, for responses that are too large to buffer. No proxy, cookies, redirects or
 * decompression. Given an IP address, it resolves no name, so the address that the SSRF guard checked is the one
 * connected to: a second lookup could return another.
 */
import { ConnectionLost, NotConnected } from "./connection.ts";
import type { ReusableSocket, ReusableSockets, SocketOwner } from "./connection-reuse.ts";
import { type Head, InvalidHttpResponse, ResponseParser } from "./parse-response.ts";
import { isResponse } from "./unsolicited-bytes.ts";

export interface StreamingEndpoint {
  /** An IP address, or a name. */
  readonly address: string;
  readonly port: number;
  /** With TLS: the name that the certificate must be valid for. Absent: the address itself. */
  readonly tls?: { readonly serverName?: string };
  /** The whole request, head and body. */
  readonly request: string;
}

export interface StreamingCallOptions {
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /** Connect timeout. */
  readonly connectMs: number;
  /** Certificate authorities to trust instead of the default ones. */
  readonly ca?: string;
  readonly connect?: typeof Bun.connect;
  /** The sockets to reuse. Absent: each call opens and closes its own connection. */
  readonly sockets?: ReusableSockets;
}

export interface StreamingResponse {
  readonly status: number;
  readonly headers: Head;
  /**
   * The body in chunks as they arrive. Throws ConnectionLost, InvalidHttpResponse, ResponseTooLarge, or the signal's
   * reason.
   */
  chunks(): AsyncGenerator<Uint8Array>;
  close(): void;
}

/** Resolves at the end of the head. Rejects as `body` throws, or with NotConnected. */
export const streamingCall = (
  endpoint: StreamingEndpoint,
  options: StreamingCallOptions,
): Promise<StreamingResponse> => new StreamingCall(endpoint, options).begin(options);

/** Backpressure: above this many buffered bytes the socket is paused until the reader catches up. */
const maxBufferedBytes = 64 * 1024;

class StreamingCall implements StreamingResponse, SocketOwner {
  readonly #endpoint: StreamingEndpoint;
  readonly #sockets: ReusableSockets | undefined;
  readonly #signal: AbortSignal;
  readonly #response: ResponseParser;
  readonly #head = Promise.withResolvers<StreamingResponse>();
  #socket: ReusableSocket | undefined;
  #connecting: ReturnType<typeof setTimeout> | undefined;
  #unsent: Buffer | undefined;
  #chunks: Uint8Array[] = [];
  #bufferedBytes = 0;
  #paused = false;
  #isConnected = false;
  /** The response began before the request was written to its end. */
  #isEarly = false;
  /** The connection carried another request before. */
  #isReused = false;
  #failure: { readonly error: unknown } | undefined;
  /** Wakes the reader of the body. */
  #wake: (() => void) | undefined;

  constructor(endpoint: StreamingEndpoint, { maxBytes, signal, sockets }: StreamingCallOptions) {
    this.#endpoint = endpoint;
    this.#sockets = sockets;
    this.#signal = signal;
    this.#response = new ResponseParser(maxBytes, (piece) => this.#buffer(piece));
  }

  get status(): number {
    return this.#response.status;
  }

  get headers(): Head {
    return this.#response.headers;
  }

  begin({
    connectMs,
    ca,
    connect = Bun.connect,
  }: StreamingCallOptions): Promise<StreamingResponse> {
    const { address, port, tls } = this.#endpoint;
    if (this.#signal.aborted) return Promise.reject(this.#signal.reason);
    this.#signal.addEventListener("abort", this.#abort);
    const reused = this.#sockets?.take(this.#key, this);
    if (reused) {
      this.#isReused = true;
      this.onOpen(reused);
      return this.#head.promise;
    }
    this.#connecting = setTimeout(() => {
      if (!this.#isConnected) this.onError(new NotConnected({ code: "ETIMEDOUT" }));
    }, connectMs);
    connect<SocketOwner>({
      hostname: address,
      port,
      data: this,
      socket: tls ? encrypted : plain,
      ...(tls && {
        tls: {
          rejectUnauthorized: true,
          ...(tls.serverName !== undefined && { serverName: tls.serverName }),
          ...(ca !== undefined && { ca }),
        },
      }),
    }).then(
      (socket) => {
        if (!this.#isConnected) this.#socket = socket;
        // Aborted while connecting.
        if (this.#failure) socket.terminate();
      },
      (error: unknown) => this.onError(new NotConnected(error)),
    );
    return this.#head.promise;
  }

  /** The key under which sockets are reused. TLS connections are never reused. */
  get #key(): string {
    return `${this.#endpoint.address} ${this.#endpoint.port}`;
  }

  onOpen(socket: ReusableSocket): void {
    this.#socket = socket;
    this.#isConnected = true;
    clearTimeout(this.#connecting);
    this.#unsent = Buffer.from(this.#endpoint.request);
    this.onDrain(socket);
  }

  /** Writes as much as the socket accepts; the remaining bytes follow on `drain`. */
  onDrain(socket: ReusableSocket): void {
    if (!this.#unsent) return;
    const taken = Math.max(0, socket.write(this.#unsent));
    this.#unsent = taken < this.#unsent.length ? this.#unsent.subarray(taken) : undefined;
  }

  onData(bytes: Buffer): void {
    if (this.#failure) return;
    const wasDone = this.#response.done;
    if (wasDone) this.#response.reusable = false;
    // A server may refuse a request that it has not read to its end; it cannot have completed it.
    if (this.#unsent && !this.#response.hasBegun) this.#isEarly = true;
    try {
      if (!wasDone) this.#response.push(bytes);
    } catch (error) {
      this.onError(error);
      return;
    }
    const { isCut, surplus } = this.#response;
    if (wasDone ? !isCut && isResponse(bytes) : surplus) this.#foundSurplus();
    else if (this.#isEarly && this.#response.status >= 200 && this.#response.status <= 299) {
      this.onError(new InvalidHttpResponse("it responded before it had read the request"));
    }
    if (!this.#failure && !wasDone) this.#notify();
  }

  /**
   * More than one response came for one request. On a connection that carried another request before, the first of them
   * may belong to that one, so neither is delivered: it could be another client's image.
   */
  #foundSurplus(): void {
    this.#sockets?.onUnsolicited(this.#key);
    if (this.#isReused)
      this.onError(new InvalidHttpResponse("it sent more than one response to a request"));
  }

  onEnd(cause?: unknown): void {
    // The socket may have ended before its response was read: it must not be reused.
    if (this.#response.done) this.#response.reusable = false;
    if (this.#failure || this.#response.done) return;
    if (!this.#isConnected) {
      this.onError(new NotConnected(cause));
      return;
    }
    this.#response.close();
    if (this.#response.done) this.#notify();
    else this.onError(new ConnectionLost(!this.#response.hasBegun, cause));
  }

  onError(error: unknown): void {
    this.#failure ??= { error };
    this.#head.reject(error);
    this.#wake?.();
    this.close();
  }

  close(): void {
    clearTimeout(this.#connecting);
    this.#signal.removeEventListener("abort", this.#abort);
    const socket = this.#socket;
    this.#socket = undefined;
    if (!socket) return;
    const { done, reusable } = this.#response;
    // A paused socket has not yet reported whether the upstream closed it.
    const clean = done && reusable && !this.#failure && !this.#unsent && !this.#paused;
    if (this.#sockets && clean) this.#sockets.release(this.#key, socket);
    else socket.terminate();
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const piece = this.#chunks.shift();
        if (piece) {
          this.#bufferedBytes -= piece.length;
          yield piece;
        } else if (this.#failure) throw this.#failure.error;
        else if (this.#response.done) return;
        else await this.#waitForData();
      }
    } finally {
      this.close();
    }
  }

  #waitForData(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    if (this.#paused) {
      this.#paused = false;
      this.#socket?.resume();
    }
    return promise;
  }

  #buffer(piece: Buffer): void {
    // A reader that keeps up has consumed all earlier chunks: pausing for each chunk would cost more than reading it.
    const isBehind = this.#bufferedBytes > 0;
    this.#chunks.push(piece);
    this.#bufferedBytes += piece.length;
    if (!isBehind || this.#bufferedBytes < maxBufferedBytes || this.#paused) return;
    this.#paused = true;
    this.#socket?.pause();
  }

  #notify(): void {
    if (this.#response.status !== 0) this.#head.resolve(this);
    this.#wake?.();
  }

  readonly #abort = (): void => this.onError(this.#signal.reason);
}

const plain: Bun.SocketHandler<SocketOwner> = {
  open: (socket) => socket.data.onOpen(socket),
  drain: (socket) => socket.data.onDrain(socket),
  data: ({ data }, piece) => data.onData(piece),
  end: ({ data }) => data.onEnd(),
  close: ({ data }, error) => data.onEnd(error),
  error: ({ data }, error) => data.onEnd(error),
};

const encrypted: Bun.SocketHandler<SocketOwner> = {
  ...plain,
  // Nothing is sent before the peer is verified.
  open: () => undefined,
  handshake: (socket, completed, error) => {
    if (completed && socket.authorized) socket.data.onOpen(socket);
    else socket.data.onError(new NotConnected(error));
  },
};
