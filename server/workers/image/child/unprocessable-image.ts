/** An image that the worker cannot process. The gateway maps it to an error of the client or of the upstream. */
import type { FailureReason } from "../messages.ts";

export class UnprocessableImageError extends Error {
  override readonly name = "UnprocessableImageError";
  readonly why: FailureReason;

  /** `words`: the problem, as the predicate of "the image". */
  constructor(why: FailureReason, words: string, cause?: unknown) {
    super(words, { cause });
    this.why = why;
  }
}
