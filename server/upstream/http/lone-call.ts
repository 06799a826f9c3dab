/**
 * One call over a connection of its own, its answer taken as it comes: for what is too large to be held. No proxy, no
 * cookie, no redirect, no decompression. Where an address is given and no name, nothing is looked up, so whoever checked
 * the address can be sure that it is the one: a name could lead elsewhere the second time.
 */
import type { Signal } from "../../std/signal.ts";
import { Answer, type Head } from "./answer.ts";
import { BrokenOff, NotConnected } from "./connection.ts";

export interface LonePlace {
  /** An IP address, or a name. */
  readonly address: string;
  readonly port: number;
  /** Where it is encrypted: whose certificate is believed, by name. Absent: by the address itself. */
  readonly tls?: { readonly serverName?: string };
  /** The whole request, head and body. */
  readonly request: string;
}

export interface LoneOptions {
  readonly maxBytes: number;
  readonly signal: Signal;
  /** How long to wait for the connection. */
  readonly connectMs: number;
  /** Certificates to believe instead of the usual ones. */
  readonly ca?: string;
  readonly connect?: typeof Bun.connect;
}

export interface LoneAnswer {
  readonly status: number;
  readonly headers: Head;
  /** The body as it comes. Throws BrokenOff, NotHttp, TooLarge, or the signal's reason. */
  chunks(): AsyncGenerator<Uint8Array>;
  close(): void;
}

/** Resolves at the end of the head. Rejects with NotConnected, BrokenOff, NotHttp, TooLarge, or the signal's reason. */
export const callAlone = (place: LonePlace, options: LoneOptions): Promise<LoneAnswer> =>
  new LoneCall(place, options).begin(options);

/** Held for a reader who is slower than the socket; then the socket waits. */
const mostHeld = 64 * 1024;

type Socket = Bun.Socket<LoneCall>;

class LoneCall implements LoneAnswer {
  readonly #place: LonePlace;
  readonly #signal: Signal;
  readonly #answer: Answer;
  readonly #head = Promise.withResolvers<LoneAnswer>();
  #socket: Socket | undefined;
  #connecting: ReturnType<typeof setTimeout> | undefined;
  #unsent: Buffer | undefined;
  #pieces: Uint8Array[] = [];
  #held = 0;
  #paused = false;
  #asked = false;
  #failure: { readonly error: unknown } | undefined;
  /** Wakes the reader of the body. */
  #wake: (() => void) | undefined;

  constructor(place: LonePlace, { maxBytes, signal }: LoneOptions) {
    this.#place = place;
    this.#signal = signal;
    this.#answer = new Answer(maxBytes, (piece) => this.#hold(piece));
  }

  get status(): number {
    return this.#answer.status;
  }

  get headers(): Head {
    return this.#answer.headers;
  }

  begin({ connectMs, ca, connect = Bun.connect }: LoneOptions): Promise<LoneAnswer> {
    const { address, port, tls } = this.#place;
    if (this.#signal.aborted) return Promise.reject(this.#signal.reason);
    this.#signal.addEventListener("abort", this.#giveUp);
    this.#connecting = setTimeout(() => {
      if (!this.#asked) this.fail(new NotConnected({ code: "ETIMEDOUT" }));
    }, connectMs);
    connect<LoneCall>({
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
        this.#socket = socket;
        // Given up while the connection was being made.
        if (this.#failure) socket.terminate();
      },
      (error: unknown) => this.fail(new NotConnected(error)),
    );
    return this.#head.promise;
  }

  ask(socket: Socket): void {
    this.#socket = socket;
    this.#asked = true;
    clearTimeout(this.#connecting);
    this.#unsent = Buffer.from(this.#place.request);
    this.write(socket);
  }

  /** As much as the socket takes; the rest when it has room again. */
  write(socket: Socket): void {
    if (!this.#unsent) return;
    const taken = Math.max(0, socket.write(this.#unsent));
    this.#unsent = taken < this.#unsent.length ? this.#unsent.subarray(taken) : undefined;
  }

  take(bytes: Buffer): void {
    if (this.#failure || this.#answer.done) return;
    try {
      this.#answer.push(bytes);
    } catch (error) {
      this.fail(error);
      return;
    }
    this.#tell();
  }

  ended(cause?: unknown): void {
    if (this.#failure || this.#answer.done) return;
    if (!this.#asked) {
      this.fail(new NotConnected(cause));
      return;
    }
    this.#answer.close();
    if (this.#answer.done) this.#tell();
    else this.fail(new BrokenOff(!this.#answer.begun, cause));
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
    this.#socket?.terminate();
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
    this.#pieces.push(piece);
    this.#held += piece.length;
    if (this.#held < mostHeld || this.#paused) return;
    this.#paused = true;
    this.#socket?.pause();
  }

  #tell(): void {
    if (this.#answer.status !== 0) this.#head.resolve(this);
    this.#wake?.();
  }

  readonly #giveUp = (): void => this.fail(this.#signal.reason);
}

const plain: Bun.SocketHandler<LoneCall> = {
  open: (socket) => socket.data.ask(socket),
  drain: (socket) => socket.data.write(socket),
  data: ({ data }, piece) => data.take(piece),
  end: ({ data }) => data.ended(),
  close: ({ data }, error) => data.ended(error),
  error: ({ data }, error) => data.ended(error),
};

const encrypted: Bun.SocketHandler<LoneCall> = {
  ...plain,
  // Nothing is said before it is certain to whom.
  open: () => undefined,
  handshake: (socket, believed, error) => {
    if (believed && socket.authorized) socket.data.ask(socket);
    else socket.data.fail(new NotConnected(error));
  },
};
