/**
 * Work over a stored file in steps, by bytes and time (`ByteTurns.steps`). It waits for its turn before each step: the
 * stream of a local file never waits, so nothing else would run until its end.
 */
const maxStepMs = 5;

interface TurnsOptions {
  readonly maxBytes: number;
  /** Resolves when the next step may begin. Other requests were served meanwhile. */
  readonly wait: () => Promise<void>;
  /** Monotonic milliseconds. */
  readonly clock: () => number;
}

export class Turns {
  readonly #options: TurnsOptions;
  #bytes = 0;
  /** The first step has to wait too: many files may begin at the same time. */
  #startedAt = Number.NEGATIVE_INFINITY;

  constructor(options: TurnsOptions) {
    this.#options = options;
  }

  /** Whether the step is over, and `next` is to be awaited. `bytes`: how many more were read. */
  isDue(bytes = 0): boolean {
    const { maxBytes, clock } = this.#options;
    this.#bytes += bytes;
    return this.#bytes >= maxBytes || clock() - this.#startedAt >= maxStepMs;
  }

  async next(): Promise<void> {
    const { wait, clock } = this.#options;
    await wait();
    this.#bytes = 0;
    this.#startedAt = clock();
  }

  /** Runs a computation that yields between its parts. */
  async run<T>(parts: Iterator<void, T>): Promise<T> {
    for (;;) {
      const { done, value } = parts.next();
      if (done) return value;
      if (this.isDue()) await this.next();
    }
  }
}
