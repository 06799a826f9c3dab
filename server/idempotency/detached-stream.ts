/** A stream that is worked on to its end even when nobody reads it any more. */
import { ignoreRejection } from "../lib/ignore-rejection.ts";
import type { BodyChunk } from "../request/http-types.ts";

export interface Lasting {
  readonly pieces: AsyncIterable<BodyChunk>;
  /** The reader has left before the end. */
  readonly isLeft: () => boolean;
}

/**
 * `onLeft`: told at once when the reader leaves. `onPiece`: told of every piece, read or not. `onOver`: told when the last
 * piece has come.
 */
export function lasting(
  source: AsyncIterable<BodyChunk>,
  told: {
    /** Whether it goes on without a reader. */
    readonly finishes: boolean;
    onLeft(): void;
    onPiece(piece: BodyChunk): void;
    onOver(): Promise<void>;
  },
): Lasting {
  const iterator = source[Symbol.asyncIterator]();
  let left = false;
  let over = false;
  let pending: Promise<IteratorResult<BodyChunk>> | undefined;

  const step = async (): Promise<IteratorResult<BodyChunk>> => {
    let result: IteratorResult<BodyChunk> | undefined;
    try {
      result = await iterator.next();
      if (!result.done) told.onPiece(result.value);
      return result;
    } finally {
      // Also where it fails: others wait for the end.
      if ((result === undefined || result.done) && !over) {
        over = true;
        await told.onOver();
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
      if (!told.finishes) {
        try {
          await iterator.return?.();
        } finally {
          // Also where it fails: others wait for the end.
          over = true;
          await told.onOver();
        }
        return { done: true, value: undefined };
      }
      told.onLeft();
      // Whatever it fails with is in the account of the call already.
      ignoreRejection(toTheEnd());
    }
    return { done: true, value: undefined };
  };
  return {
    pieces: { [Symbol.asyncIterator]: () => ({ next, return: leave }) },
    isLeft: () => left,
  };
}
