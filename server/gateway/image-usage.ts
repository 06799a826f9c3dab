/** What several pictures of one answer used together, where each tells its own. */
import type { ImageUsage, Rest } from "../upstream/contract.ts";

/** With the details where all tell them, and of the same kinds. */
export const sumOf = (
  before: ImageUsage | undefined,
  next: ImageUsage | undefined,
): ImageUsage | undefined =>
  before && next
    ? {
        total_tokens: before.total_tokens + next.total_tokens,
        input_tokens: before.input_tokens + next.input_tokens,
        output_tokens: before.output_tokens + next.output_tokens,
        ...detailsOf("input_tokens_details", before, next),
        ...detailsOf("output_tokens_details", before, next),
      }
    : (next ?? before);

function detailsOf(
  name: "input_tokens_details" | "output_tokens_details",
  { [name]: before }: ImageUsage,
  { [name]: next }: ImageUsage,
): Pick<ImageUsage, typeof name> {
  if (!before || !next || Object.keys(before).length !== Object.keys(next).length) return {};
  const sums: Record<string, number> = {};
  for (const [kind, count] of Object.entries(before)) {
    const other = next[kind];
    if (typeof count !== "number" || typeof other !== "number") return {};
    sums[kind] = count + other;
  }
  return { [name]: sums satisfies Rest };
}
