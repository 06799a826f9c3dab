/** What several pictures of one answer used together, where each tells its own. */
import type { ImageUsage } from "../upstream/contract.ts";

/** With the details while there is one to tell them of: those of two need not be of the same kind. */
export const sumOf = (
  before: ImageUsage | undefined,
  next: ImageUsage | undefined,
): ImageUsage | undefined =>
  before && next
    ? {
        total_tokens: before.total_tokens + next.total_tokens,
        input_tokens: before.input_tokens + next.input_tokens,
        output_tokens: before.output_tokens + next.output_tokens,
      }
    : (next ?? before);
