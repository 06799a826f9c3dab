/**
 * Turns for reading and copying stored bytes: downloads, the checksums of uploads, and the results of batches. In each turn of the event loop one chunk of
 * at most `turnBytes` is read, and keys take turns, however many files each reads at once. A file in the page cache is
 * read as fast as it is asked for: without turns, all requests would wait until a file is read.
 */
import { KeyTurns } from "./key-turns.ts";
import { nextTurn } from "./tasks.ts";

export const turnBytes = 256 * 1024;

export class ByteTurns {
  /** Bounded by the number of requests: each waits for one chunk. */
  readonly #waiting = new KeyTurns<() => void>();
  #isRunning = false;

  /** The same bytes, a turn before each chunk. */
  async *read(
    key: string,
    chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  ): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      for (let at = 0; at < chunk.length; at += turnBytes) {
        await this.#turn(key);
        yield chunk.length <= turnBytes ? chunk : chunk.subarray(at, at + turnBytes);
      }
    }
  }

  #turn(key: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(key, resolve);
    if (!this.#isRunning) void this.#run();
    return promise;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let begin = this.#next(); begin; begin = this.#next()) {
      begin();
      await nextTurn();
    }
    this.#isRunning = false;
  }

  #next(): (() => void) | undefined {
    return this.#waiting.next(() => true);
  }
}
