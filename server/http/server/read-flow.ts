/**
 * Backpressure on reads: pauses a socket while the buffers of its connection are full, and for one turn of the event
 * loop after each large read: otherwise Bun reads up to eleven times 512 KB from one fast sender before it serves other
 * connections.
 */

/** A read of this size shows that the client sends faster than the gateway reads. */
const largeReadBytes = 256 * 1024;

export class ReadFlow {
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
