/**
 * When Bun closes the connection. It counts from the beginning of a request, and no byte that passes renews that,
 * so whatever may take long must say so: or a slow upload would be cut off in the middle.
 */
export class ConnectionTime {
  readonly #request: Request;
  readonly #server: Bun.Server<undefined>;
  readonly #seconds: number;
  readonly #clock: () => number;
  readonly #began: number;
  #held = false;

  /** `clock`: milliseconds, monotonic. */
  constructor(
    request: Request,
    server: Bun.Server<undefined>,
    seconds: number,
    clock: () => number,
  ) {
    this.#request = request;
    this.#server = server;
    this.#seconds = seconds;
    this.#clock = clock;
    this.#began = clock();
  }

  sinceBegan(): number {
    return this.#clock() - this.#began;
  }

  /** Others watch the clock from here on. */
  hold(): void {
    if (!this.#held) this.#server.timeout(this.#request, 0);
    this.#held = true;
  }

  /**
   * Holds it when so much more time would not leave enough of its own for the answer to leave.
   * Only then: telling Bun costs as much as parsing the answer.
   */
  holdFor(ms: number): void {
    if (this.#clock() - this.#began + ms > this.#seconds * 500) this.hold();
  }

  /** Counts anew. */
  renew(): void {
    if (this.#held) this.#server.timeout(this.#request, this.#seconds);
  }
}
