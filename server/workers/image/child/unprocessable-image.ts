/** An image that the worker cannot process. The gateway maps it to an error of the client or of the upstream. */
import type { FailureReason } from "../messages.ts";

export class UnprocessableImageError extends Error {
  override readonly name = "UnprocessableImageError";
  readonly reason: FailureReason;

  /** `problem`: completes a sentence that begins with "the image". */
  constructor(reason: FailureReason, problem: string, cause?: unknown) {
    super(problem, { cause });
    this.reason = reason;
  }
}
