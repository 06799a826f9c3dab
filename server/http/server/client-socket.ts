/** The socket of a client's connection: what is written to it, when it is paused, and the ways to close it. */
import type { ConnectionPhase } from "./connection-phase.ts";
import { HalfClose } from "./half-close.ts";
import { ReadFlow } from "./read-flow.ts";
import { ReadRate } from "./read-rate.ts";
import { SocketWriter } from "./socket-writer.ts";

/** The functions of Bun's sockets that a connection calls. */
export type ByteSocket = Pick<
  Bun.Socket<unknown>,
  "write" | "pause" | "resume" | "shutdown" | "end" | "terminate" | "remoteAddress"
>;

export class ClientSocket {
  readonly phase: ConnectionPhase;
  readonly writer: SocketWriter;
  readonly flow: ReadFlow;
  readonly readRate = new ReadRate();
  readonly halfClose = new HalfClose();
  readonly #socket: ByteSocket;
  /** Called once, when the socket is closed by either side. */
  readonly #onClosed: () => void;

  constructor(socket: ByteSocket, phase: ConnectionPhase, onClosed: () => void) {
    this.#socket = socket;
    this.#onClosed = onClosed;
    this.phase = phase;
    this.writer = new SocketWriter(socket);
    this.flow = new ReadFlow(socket);
  }

  get remoteAddress(): string {
    return this.#socket.remoteAddress;
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
   * Lingering close: sends FIN and lets the connection discard what arrives. A full close while the client sends would
   * reset the connection, and lose the response.
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
