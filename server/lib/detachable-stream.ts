/** A stream that can be detached from its reader: after the reader has left, it is still read to its end. */
import { ignoreRejection } from "./tasks.ts";

interface StreamCallbacks<Chunk> {
  /** True: the stream is read to its end without a reader. False: it is canceled. */
  readonly continueDetached: boolean;
  /** Called as soon as the reader leaves a stream that continues. */
  onDetach(): void;
  /** Called for every chunk, whether a reader takes it or not. */
  onChunk(chunk: Chunk): void;
  /** Called once, after the last chunk or after the stream failed or was canceled. */
  onEnd(): Promise<void>;
}

export function detachableStream<Chunk>(
  source: AsyncIterable<Chunk>,
  callbacks: StreamCallbacks<Chunk>,
): AsyncIterable<Chunk> {
  const iterator = source[Symbol.asyncIterator]();
  let detached = false;
  let ended = false;
  let pending: Promise<IteratorResult<Chunk>> | undefined;

  const readChunk = async (): Promise<IteratorResult<Chunk>> => {
    let result: IteratorResult<Chunk> | undefined;
    try {
      result = await iterator.next();
      if (!result.done) callbacks.onChunk(result.value);
      return result;
    } finally {
      // Also after a failure: others may wait for `onEnd`.
      if ((result === undefined || result.done) && !ended) {
        ended = true;
        await callbacks.onEnd();
      }
    }
  };

  const next = (): Promise<IteratorResult<Chunk>> => {
    pending = readChunk();
    return pending;
  };

  const readToEnd = async (): Promise<void> => {
    for (let result = await pending; !result?.done; ) result = await readChunk();
  };

  const cancel = async (): Promise<void> => {
    try {
      await iterator.return?.();
    } finally {
      // Also after a failure: others may wait for `onEnd`.
      ended = true;
      await callbacks.onEnd();
    }
  };

  const detach = async (): Promise<IteratorResult<Chunk>> => {
    if (!ended && !detached) {
      detached = true;
      if (callbacks.continueDetached) {
        callbacks.onDetach();
        // No reader is left to get a failure. `onEnd` is called after it as well.
        ignoreRejection(readToEnd());
      } else {
        await cancel();
      }
    }
    return { done: true, value: undefined };
  };

  return { [Symbol.asyncIterator]: () => ({ next, return: detach }) };
}
