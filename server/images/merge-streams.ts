/** Merges several streams into one, in order of arrival. */
import { ignoreRejection } from "../lib/ignore-rejection.ts";

export async function* mergeStreams<T>(sources: readonly AsyncIterable<T>[]): AsyncGenerator<T> {
  const iterators = sources.map((source) => source[Symbol.asyncIterator]());
  const readNext = async (at: number) => ({
    at,
    result: await (iterators[at] as AsyncIterator<T>).next(),
  });
  const waiting = new Map(iterators.map((_, at) => [at, readNext(at)]));
  try {
    while (waiting.size > 0) {
      const { at, result } = await Promise.race(waiting.values());
      if (result.done) waiting.delete(at);
      else {
        waiting.set(at, readNext(at));
        yield result.value;
      }
    }
  } finally {
    // Closes the sources that have not ended, and ignores their errors.
    for (const pending of waiting.values()) ignoreRejection(pending);
    for (const at of waiting.keys()) ignoreRejection(iterators[at]?.return?.());
  }
}
