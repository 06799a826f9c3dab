/**
 * A streaming call on its own connection, for responses that are too large to buffer. No proxy, cookies, redirects or
 * decompression. Given an IP address, it resolves no name, so the address that the SSRF guard checked is the one
 * connected to: a second lookup could return another.
 */
import type { AbortSignalLike } from "../../lib/abort-signal.ts";
import { ConnectionLost, NotConnected } from "./connection.ts";
import type { ReusableSocket, ReusableSockets, SocketOwner } from "./connection-reuse.ts";
import { type Head, InvalidHttpResponse, ResponseParser } from "./parse-response.ts";
import { isResponse } from "./unsolicited-bytes.ts";

export interface StreamingAddress {
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
  readonly signal: AbortSignalLike;
  /** Connect timeout. */
  readonly connectMs: number;
  /** Certificate authorities to trust instead of the default ones. */
  readonly ca?: string;
  readonly connect?: typeof Bun.connect;
  /** The sockets to reuse. Absent: each call opens and closes its own connection. */
  readonly kept?: ReusableSockets;
}

export interface StreamingResponse {
  readonly status: number;
  readonly headers: Head;
  /** The body in chunks as they arrive. Throws ConnectionLost, InvalidHttpResponse, ResponseTooLarge, or the signal's reason. */
  chunks(): AsyncGenerator<Uint8Array>;
  close(): void;
}

/** Resolves at the end of the head. Rejects as `body` throws, or with NotConnected. */
export const streamingCall = (
  place: StreamingAddress,
  options: StreamingCallOptions,
): Promise<StreamingResponse> => new LoneCall(place, options).begin(options);

/** Backpressure: above this many buffered bytes the socket is paused until the reader catches up. */
const mostHeld = 64 * 1024;

class LoneCall implements StreamingResponse, SocketOwner {
  readonly #place: StreamingAddress;
  readonly #kept: ReusableSockets | undefined;
  readonly #signal: AbortSignalLike;
  readonly #answer: ResponseParser;
  readonly #head = Promise.withResolvers<StreamingResponse>();
  #socket: ReusableSocket | undefined;
  #connecting: ReturnType<typeof setTimeout> | undefined;
  #unsent: Buffer | undefined;
  #pieces: Uint8Array[] = [];
  #held = 0;
  #paused = false;
  #asked = false;
  /** The response began before the request was written to its end. */
  #isEarly = false;
  /** The connection carried another request before. */
  #isReused = false;
  #failure: { readonly error: unknown } | undefined;
  /** Wakes the reader of the body. */
  #wake: (() => void) | undefined;

  constructor(place: StreamingAddress, { maxBytes, signal, kept }: StreamingCallOptions) {
    this.#place = place;
    this.#kept = kept;
    this.#signal = signal;
    this.#answer = new ResponseParser(maxBytes, (piece) => this.#hold(piece));
  }

  get status(): number {
    return this.#answer.status;
  }

  get headers(): Head {
    return this.#answer.headers;
  }

  begin({
    connectMs,
    ca,
    connect = Bun.connect,
  }: StreamingCallOptions): Promise<StreamingResponse> {
    const { address, port, tls } = this.#place;
    if (this.#signal.aborted) return Promise.reject(this.#signal.reason);
    this.#signal.addEventListener("abort", this.#giveUp);
    const there = this.#kept?.take(this.#key, this);
    if (there) {
      this.#isReused = true;
      this.opened(there);
      return this.#head.promise;
    }
    this.#connecting = setTimeout(() => {
      if (!this.#asked) this.fail(new NotConnected({ code: "ETIMEDOUT" }));
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
        if (!this.#asked) this.#socket = socket;
        // Aborted while connecting.
        if (this.#failure) socket.terminate();
      },
      (error: unknown) => this.fail(new NotConnected(error)),
    );
    return this.#head.promise;
  }

  /** The key under which sockets are reused. TLS connections are never reused. */
  get #key(): string {
    return `${this.#place.address} ${this.#place.port}`;
  }

  opened(socket: ReusableSocket): void {
    this.#socket = socket;
    this.#asked = true;
    clearTimeout(this.#connecting);
    this.#unsent = Buffer.from(this.#place.request);
    this.drained(socket);
  }

  /** Writes as much as the socket accepts; the remaining bytes follow on `drain`. */
  drained(socket: ReusableSocket): void {
    if (!this.#unsent) return;
    const taken = Math.max(0, socket.write(this.#unsent));
    this.#unsent = taken < this.#unsent.length ? this.#unsent.subarray(taken) : undefined;
  }

  take(bytes: Buffer): void {
    if (this.#failure) return;
    const wasDone = this.#answer.done;
    if (wasDone) this.#answer.reusable = false;
    // A server may refuse a request that it has not read to its end; it cannot have done it.
    if (this.#unsent && !this.#answer.begun) this.#isEarly = true;
    try {
      if (!wasDone) this.#answer.push(bytes);
    } catch (error) {
      this.fail(error);
      return;
    }
    const { isCut, surplus } = this.#answer;
    if (wasDone ? !isCut && isResponse(bytes) : surplus) this.#foundSurplus();
    else if (this.#isEarly && this.#answer.status >= 200 && this.#answer.status <= 299) {
      this.fail(new InvalidHttpResponse("it answered before it had read the request"));
    }
    if (!this.#failure && !wasDone) this.#tell();
  }

  /**
   * More than one response came for one request. On a connection that carried another request before, the first of them
   * may belong to that one, so neither is delivered: it could be another client's image.
   */
  #foundSurplus(): void {
    this.#kept?.unsolicited(this.#key);
    if (this.#isReused)
      this.fail(new InvalidHttpResponse("it sent more than one response to a request"));
  }

  ended(cause?: unknown): void {
    // The socket may have ended before its response was read: it must not be reused.
    if (this.#answer.done) this.#answer.reusable = false;
    if (this.#failure || this.#answer.done) return;
    if (!this.#asked) {
      this.fail(new NotConnected(cause));
      return;
    }
    this.#answer.close();
    if (this.#answer.done) this.#tell();
    else this.fail(new ConnectionLost(!this.#answer.begun, cause));
  }

  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#head.reject(error);
    this.#wake?.();
    this.close();
  }

  close(): void {
    clearTimeout(this.#connecting);
    this.#signal.removeEventListener("abort", this.#giveUp);
    const socket = this.#socket;
    this.#socket = undefined;
    if (!socket) return;
    const { done, reusable } = this.#answer;
    // A paused socket has not yet reported whether the upstream closed it.
    const clean = done && reusable && !this.#failure && !this.#unsent && !this.#paused;
    if (this.#kept && clean) this.#kept.put(this.#key, socket);
    else socket.terminate();
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const piece = this.#pieces.shift();
        if (piece) {
          this.#held -= piece.length;
          yield piece;
        } else if (this.#failure) throw this.#failure.error;
        else if (this.#answer.done) return;
        else await this.#more();
      }
    } finally {
      this.close();
    }
  }

  #more(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    if (this.#paused) {
      this.#paused = false;
      this.#socket?.resume();
    }
    return promise;
  }

  #hold(piece: Buffer): void {
    // A reader that keeps up has consumed all earlier chunks: pausing for each chunk would cost more than reading it.
    const isBehind = this.#held > 0;
    this.#pieces.push(piece);
    this.#held += piece.length;
    if (!isBehind || this.#held < mostHeld || this.#paused) return;
    this.#paused = true;
    this.#socket?.pause();
  }

  #tell(): void {
    if (this.#answer.status !== 0) this.#head.resolve(this);
    this.#wake?.();
  }

  readonly #giveUp = (): void => this.fail(this.#signal.reason);
}

const plain: Bun.SocketHandler<SocketOwner> = {
  open: (socket) => socket.data.opened(socket),
  drain: (socket) => socket.data.drained(socket),
  data: ({ data }, piece) => data.take(piece),
  end: ({ data }) => data.ended(),
  close: ({ data }, error) => data.ended(error),
  error: ({ data }, error) => data.ended(error),
};

const encrypted: Bun.SocketHandler<SocketOwner> = {
  ...plain,
  // Nothing is said before it is certain to whom.
  open: () => undefined,
  handshake: (socket, believed, error) => {
    if (believed && socket.authorized) socket.data.opened(socket);
    else socket.data.fail(new NotConnected(error));
  },
};
