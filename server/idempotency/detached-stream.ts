/** A stream that is worked on to its end even when nobody reads it any more. */
import { ignoreRejection } from "../lib/ignore-rejection.ts";
import type { BodyChunk } from "../request/http-types.ts";

export interface DetachableStream {
  readonly chunks: AsyncIterable<BodyChunk>;
  /** The reader has left before the end. */
  readonly isDetached: () => boolean;
}

/**
 * `onLeft`: told at once when the reader leaves. `onPiece`: told of every piece, read or not. `onOver`: told when the last
 * piece has come.
 */
export function detachableStream(
  source: AsyncIterable<BodyChunk>,
  told: {
    /** Whether it goes on without a reader. */
    readonly continueDetached: boolean;
    onDetach(): void;
    onChunk(piece: BodyChunk): void;
    onEnd(): Promise<void>;
  },
): DetachableStream {
  const iterator = source[Symbol.asyncIterator]();
  let left = false;
  let over = false;
  let pending: Promise<IteratorResult<BodyChunk>> | undefined;

  const step = async (): Promise<IteratorResult<BodyChunk>> => {
    let result: IteratorResult<BodyChunk> | undefined;
    try {
      result = await iterator.next();
      if (!result.done) told.onChunk(result.value);
      return result;
    } finally {
      // Also where it fails: others wait for the end.
      if ((result === undefined || result.done) && !over) {
        over = true;
        await told.onEnd();
      }
    }
  };
  const next = (): Promise<IteratorResult<BodyChunk>> => {
    pending = step();
    return pending;
  };
  const toTheEnd = async (): Promise<void> => {
    for (let result = await pending; !result?.done; ) result = await step();
  };
  const leave = async (): Promise<IteratorResult<BodyChunk>> => {
    if (!over && !left) {
      left = true;
      if (!told.continueDetached) {
        try {
          await iterator.return?.();
        } finally {
          // Also where it fails: others wait for the end.
          over = true;
          await told.onEnd();
        }
        return { done: true, value: undefined };
      }
      told.onDetach();
      // Whatever it fails with is in the account of the call already.
      ignoreRejection(toTheEnd());
    }
    return { done: true, value: undefined };
  };
  return {
    chunks: { [Symbol.asyncIterator]: () => ({ next, return: leave }) },
    isDetached: () => left,
  };
}
