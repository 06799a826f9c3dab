/** A picture that cannot be worked on, inside the darkroom's process. Whose fault that is, the gateway knows. */
import type { FailureReason } from "../messages.ts";

export class UnprocessableImageError extends Error {
  override readonly name = "UnprocessableImageError";
  readonly why: FailureReason;

  /** `words`: what is wrong with the picture, to be read after "the picture". */
  constructor(why: FailureReason, words: string, cause?: unknown) {
    super(words, { cause });
    this.why = why;
  }
}
