/**
 * Turns for work over the bytes of files: uploads, downloads, checksums, and the input and results of batches. In each
 * turn of the event loop, at most `turnBytes` in at most `chunksPerTurn` chunks are worked on, or one step of a
 * computation, and keys take turns, however many files each sends or reads at once. A file in the page cache is read as
 * fast as it is asked for: without turns, all requests would wait until it is read.
 */
import { KeyTurns } from "./key-turns.ts";
import { nextTurn } from "./tasks.ts";
import { Turns } from "./turns.ts";

export const turnBytes = 512 * 1024;
const chunksPerTurn = 8;

interface Waiter {
  readonly key: string;
  readonly bytes: number;
  begin(): void;
}

export class ByteTurns {
  /** Bounded by the number of requests: each waits for one chunk. */
  readonly #waiting = new KeyTurns<Waiter>();
  readonly #clock: () => number;
  #isRunning = false;

  /** `clock`: monotonic milliseconds. */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** The same bytes, with a turn before each chunk. */
  async *read(
    key: string,
    chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  ): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      for (let at = 0; at < chunk.length; at += turnBytes) {
        const part = chunk.length <= turnBytes ? chunk : chunk.subarray(at, at + turnBytes);
        await this.next(key, part.length);
        yield part;
      }
    }
  }

  /** For a computation over the bytes of a file: a step of it takes a whole turn. */
  steps(key: string): Turns {
    const wait = () => this.next(key, turnBytes);
    return new Turns({ maxBytes: turnBytes, wait, clock: this.#clock });
  }

  /** Resolves when it is the key's turn to work on that many bytes. */
  next(key: string, bytes: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(key, { key, bytes, begin: resolve });
    if (!this.#isRunning) void this.#run();
    return promise;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.size > 0) {
      this.#beginTurn();
      await nextTurn();
    }
    this.#isRunning = false;
  }

  #beginTurn(): void {
    let left = turnBytes;
    for (let count = 0; count < chunksPerTurn; count++) {
      const waiter = this.#waiting.find(() => true);
      // A chunk that is larger than a turn has a turn of its own.
      if (!waiter || (waiter.bytes > left && count > 0)) return;
      left -= waiter.bytes;
      this.#waiting.takeTurn(waiter.key, waiter);
      waiter.begin();
    }
  }
}
