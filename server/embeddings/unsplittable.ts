/**
 * A request that is one unit: no stage may cache its vectors, remove duplicates from it, share it with other requests,
 * add other inputs to it, or split it. Its inputs depend on each other, or its extra fields are large: to compare those
 * with the fields of other requests would hold the event loop, and to split it would send them several times.
 */
import { isEmptyObject } from "../lib/is-empty-object.ts";
import { isLargeJson } from "../lib/is-large-json.ts";
import type { Route } from "../request/caller.ts";
import { hasContextOption, hasNestedContextOption } from "../upstream/contextual.ts";
import type { EmbeddingsQuery } from "../upstream/contract.ts";

export type UnsplittableReason = "inputs depend on each other" | "large extra fields";

/** Why the request cannot be split; undefined if it can. */
export function unsplittableReason(
  { extraFields }: Pick<EmbeddingsQuery, "extraFields">,
  { contextual }: Pick<Route, "contextual">,
): UnsplittableReason | undefined {
  if (contextual === true) return "inputs depend on each other";
  if (isEmptyObject(extraFields)) return undefined;
  if (hasContextOption(extraFields)) return "inputs depend on each other";
  if (isLargeJson(extraFields)) return "large extra fields";
  return hasNestedContextOption(extraFields) ? "inputs depend on each other" : undefined;
}
