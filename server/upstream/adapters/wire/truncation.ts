/**
 * May a text that is too long for the model be cut? Only if the caller says `truncate: true`, as the embedded model
 * has it: half a text in an index is found by nobody. For vendors that would cut unasked, or call it otherwise.
 */
import type { EmbeddingsQuery, ExtraFields } from "../../contract.ts";

export function truncation({ rest }: EmbeddingsQuery): {
  readonly cut: boolean;
  /** What rides along, without the word for it. */
  readonly rest: ExtraFields;
} {
  const { truncate, truncation: other, ...others } = rest;
  const said = [truncate, other].find((value) => typeof value === "boolean");
  return said === undefined ? { cut: false, rest } : { cut: said, rest: others };
}
