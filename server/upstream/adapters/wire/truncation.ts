/**
 * Whether an input that is too long for the context length may be truncated: only if the client sends `truncate: true`,
 * because a search would not find the truncated part of a text. The built-in model has the same rule. Used by adapters
 * of vendors that truncate by default or name the option differently.
 */
import type { EmbeddingsQuery, ExtraFields } from "../../contract.ts";

export function truncation({ extraFields }: EmbeddingsQuery): {
  readonly mayTruncate: boolean;
  /** The passthrough fields without the truncation option. */
  readonly extraFields: ExtraFields;
} {
  const { truncate, truncation: other, ...others } = extraFields;
  const chosen = [truncate, other].find((value) => typeof value === "boolean");
  return chosen === undefined
    ? { mayTruncate: false, extraFields }
    : { mayTruncate: chosen, extraFields: others };
}
