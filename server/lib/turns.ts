/**
 * Turns of the event loop by bytes and time. Work over a stored file is divided into steps, and other requests are
 * served after each: the stream of a local file never waits, so without them nothing else would run until its end.
 */
import { nextTurn } from "./tasks.ts";

const maxStepBytes = 512 * 1024;
const maxStepMs = 5;

export class Turns {
  readonly #clock: () => number;
  #bytes = 0;
  #startedAt: number;

  /** `clock`: monotonic milliseconds. */
  constructor(clock: () => number) {
    this.#clock = clock;
    this.#startedAt = clock();
  }

  /** Whether the step is over, and `next` is to be awaited. `bytes`: how many more were read. */
  isDue(bytes = 0): boolean {
    this.#bytes += bytes;
    return this.#bytes >= maxStepBytes || this.#clock() - this.#startedAt >= maxStepMs;
  }

  /** Serves other requests. */
  async next(): Promise<void> {
    await nextTurn();
    this.#bytes = 0;
    this.#startedAt = this.#clock();
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
