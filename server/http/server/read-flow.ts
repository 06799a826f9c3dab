/**
 * Pauses a socket while enough of its bytes are buffered, and for one turn of the event loop after each large read:
 * otherwise Bun reads up to eleven times 512 KB from one fast sender before it looks at the other connections.
 */

/** A read of this size means that the sender is faster than we are. */
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

  /** So many bytes were read at once. */
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

  /** Nothing more comes, or the socket is closed. */
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
