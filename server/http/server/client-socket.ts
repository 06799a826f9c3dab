/**
 * The socket of a client's connection: its state and the timeout of each state (handshake, request head, idle timeout,
 * write), backpressure on reads, half-close, and the ways to close it.
 */

import { SocketWriter } from "./socket-writer.ts";

/** The functions of Bun's sockets that a connection calls. */
export type ByteSocket = Pick<
  Bun.Socket<unknown>,
  "write" | "pause" | "resume" | "shutdown" | "end" | "terminate" | "remoteAddress"
>;

/** Bun declares a string, and has undefined for a socket that is closed. */
const addressOf = ({ remoteAddress }: { readonly remoteAddress: string | undefined }): string =>
  remoteAddress ?? "";

export class ClientSocket {
  readonly phase: ConnectionPhase;
  readonly writer: SocketWriter;
  readonly flow: ReadFlow;
  readonly halfClose = new HalfClose();
  /** Read once: a closed socket has none. Empty: the client had left before its connection was accepted. */
  readonly remoteAddress: string;
  readonly #socket: ByteSocket;
  /** Called once, when the socket is closed by either side. */
  readonly #onClosed: () => void;

  constructor(socket: ByteSocket, phase: ConnectionPhase, onClosed: () => void) {
    this.#socket = socket;
    this.remoteAddress = addressOf(socket);
    this.#onClosed = onClosed;
    this.phase = phase;
    this.writer = new SocketWriter(socket);
    this.flow = new ReadFlow(socket);
  }

  get isInHandshake(): boolean {
    return this.phase.state === "handshake";
  }

  get isIdle(): boolean {
    return this.phase.state === "idle";
  }

  get isBusy(): boolean {
    return this.phase.state === "busy";
  }

  get isClosed(): boolean {
    return this.phase.state === "closed";
  }

  /** When bytes last moved. */
  get lastActivityAt(): number {
    return this.phase.lastActivityAt;
  }

  /** Bytes of responses in memory that the client has not read. */
  get unsentBytes(): number {
    return this.writer.unsentBytes + this.writer.heldBytes;
  }

  /** The TLS handshake is complete. */
  onHandshake(): void {
    if (this.isInHandshake) this.phase.enter("idle");
  }

  /** The socket accepts more bytes. */
  onDrain(): void {
    this.phase.touch();
    this.writer.onDrain();
  }

  /** The socket is closed. */
  onClose(): void {
    if (this.isClosed) return;
    this.phase.state = "closed";
    this.flow.end();
    this.#onClosed();
    this.writer.close();
  }

  /** Closes with RST: the client notices that a response is incomplete. */
  reset(): void {
    if (this.isClosed) return;
    this.#socket.terminate();
    this.onClose();
  }

  /** Closes. Bytes that the socket has accepted are still sent. */
  end(): void {
    if (this.isClosed) return;
    // TLS would wait for the end of the handshake before it closes.
    if (this.isInHandshake) this.#socket.terminate();
    else this.#socket.end();
    this.onClose();
  }

  /**
   * Lingering close: sends FIN and lets the connection discard the bytes that still arrive. A full close while the
   * client sends would reset the connection, and lose the response.
   */
  linger(): void {
    if (this.isClosed) return;
    this.phase.enter("lingering");
    if (this.halfClose.ended) {
      this.end();
      return;
    }
    this.flow.setFull(false);
    this.#socket.shutdown();
  }
}

type ConnectionState =
  /** The TLS handshake is not complete. */
  | "handshake"
  /** Between two requests, or before the first. */
  | "idle"
  /** A request is being handled, or its response is being written. */
  | "busy"
  /** The response is written, but the rest of the request body is still arriving. */
  | "discarding"
  /** We have sent FIN: bytes that still arrive are discarded (lingering close). */
  | "lingering"
  | "closed";

/** Up to this many bytes of an unread body are discarded to keep the connection open. */
export const maxDiscardedBytes = 2 * 1024 * 1024;
/**
 * Up to this many bytes are discarded after the last response, so that a client that is still sending can read the
 * response.
 */
const maxLingerBytes = 32 * 1024 * 1024;

/** The clock of an HTTP server and the timeouts of its connections. */
export interface ServerTime {
  /**
   * Milliseconds, monotonic, up to a second old: the timer that checks the timeouts also updates it.
   */
  now: number;
  readonly timeouts: Timeouts;
}

/** In milliseconds. */
interface Timeouts {
  /** For the whole TLS handshake. */
  readonly handshakeMs: number;
  /** For a whole request head, from its first byte. */
  readonly headMs: number;
  /** For the next request on a keep-alive connection. */
  readonly idleMs: number;
  /** For the client to read a response at the minimum rate. */
  readonly writeMs: number;
  /** For more of a body that is being discarded. */
  readonly bodyMs: number;
  /** For the client to close after our FIN, since its last byte. */
  readonly lingerIdleMs: number;
  /** For all of a body that is being discarded, and for all bytes that arrive after the last response. */
  readonly lingerTotalMs: number;
  /** For how long an idle connection keeps its last request head, which the next request often repeats. */
  readonly headCacheMs: number;
}

/** The states of a connection, and the timeout of each. */
export class ConnectionPhase {
  state: ConnectionState;
  /** When bytes last moved. */
  lastActivityAt: number;
  /** When the state began. */
  #began: number;
  /** Bytes discarded in the current state. */
  #discardedBytes = 0;
  readonly #server: ServerTime;

  constructor(server: ServerTime, state: ConnectionState) {
    this.#server = server;
    this.state = state;
    this.#began = this.lastActivityAt = server.now;
  }

  enter(state: ConnectionState): void {
    this.state = state;
    this.#began = this.lastActivityAt = this.#server.now;
    this.#discardedBytes = 0;
  }

  touch(): void {
    this.lastActivityAt = this.#server.now;
  }

  /** Counts bytes that are discarded. True when they exceed the maximum of this state. */
  countDiscarded(bytes: number): boolean {
    this.touch();
    this.#discardedBytes += bytes;
    return this.#discardedBytes > (this.state === "lingering" ? maxLingerBytes : maxDiscardedBytes);
  }

  /** How to close the connection, if this state has timed out. */
  // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one condition per state.
  timedOut(
    hasPartialHead: boolean,
    isReadingSlowly: boolean,
  ): "end" | "reset" | "linger" | undefined {
    const { now, timeouts } = this.#server;
    const silentMs = now - this.lastActivityAt;
    const stateMs = now - this.#began;
    const lingersTooLong = stateMs > timeouts.lingerTotalMs;
    switch (this.state) {
      case "handshake":
        return stateMs > timeouts.handshakeMs ? "reset" : undefined;
      case "idle":
        return silentMs > (hasPartialHead ? timeouts.headMs : timeouts.idleMs) ? "end" : undefined;
      case "busy":
        return isReadingSlowly ? "reset" : undefined;
      case "discarding":
        return silentMs > timeouts.bodyMs || lingersTooLong ? "linger" : undefined;
      case "lingering":
        return silentMs > timeouts.lingerIdleMs || lingersTooLong ? "end" : undefined;
      case "closed":
        return undefined;
    }
  }
}

/**
 * Half-close: distinguishes a client that has closed only its sending side, and waits for the response, from one that
 * has disconnected. Both send the same FIN. The system of a disconnected client answers the next byte with RST, so an
 * interim response shows the difference before the response has begun. Later, a FIN in the middle of the response
 * counts as a disconnect if no byte of the response is sent between two checks. HTTP/1.0 has no interim responses, and
 * nginx uses it for upstreams by default: there, a FIN before the response counts as a disconnect.
 */
class HalfClose {
  /** The client has sent FIN. */
  ended = false;
  /** The bytes sent until the last check. Undefined unless the FIN arrived in the middle of a response. */
  #sentBytes: number | undefined;

  onFin(isResponding: boolean): void {
    this.ended = true;
    if (isResponding) this.#sentBytes = -1;
  }

  /** Called about once a second. True when nothing was sent between two checks. */
  isDisconnected({ sentBytes, isBlocked }: Pick<SocketWriter, "sentBytes" | "isBlocked">): boolean {
    if (this.#sentBytes === undefined || isBlocked) return false;
    const sentBefore = this.#sentBytes;
    this.#sentBytes = sentBytes;
    return sentBefore === sentBytes;
  }
}

/** A read of this size shows that the client sends faster than the gateway reads. */
const largeReadBytes = 256 * 1024;

/**
 * Backpressure on reads: pauses a socket while the buffers of its connection are full, and for one turn of the event
 * loop after each large read: otherwise Bun reads up to eleven times 512 KB from one fast sender before it serves other
 * connections.
 */
class ReadFlow {
  readonly #socket: Pick<Bun.Socket<unknown>, "pause" | "resume">;
  #isFull = false;
  #isYielding = false;
  #isPaused = false;
  #isOver = false;

  constructor(socket: Pick<Bun.Socket<unknown>, "pause" | "resume">) {
    this.#socket = socket;
  }

  /** Called for each read from the socket. */
  countRead(bytes: number): void {
    if (bytes < largeReadBytes || this.#isYielding) return;
    this.#isYielding = true;
    this.#apply();
    setImmediate(this.#endYield);
  }

  setFull(isFull: boolean): void {
    this.#isFull = isFull;
    this.#apply();
  }

  /** The client has sent FIN, or the socket is closed. */
  end(): void {
    this.#isOver = true;
  }

  readonly #endYield = (): void => {
    this.#isYielding = false;
    this.#apply();
  };

  #apply(): void {
    const pause = this.#isFull || this.#isYielding;
    if (pause === this.#isPaused || this.#isOver) return;
    this.#isPaused = pause;
    if (pause) this.#socket.pause();
    else this.#socket.resume();
  }
}
