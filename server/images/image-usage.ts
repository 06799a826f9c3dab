/** Usage of several images: the sum where each reports its own, and shares where one report is for all. */

import { shareUsage } from "../embeddings/share-input-tokens.ts";
import type { ExtraFields, ImageUsage } from "../upstream/contract.ts";

/** Adds two usages, with the details if both have the same fields. */
export const sumUsage = (
  before: ImageUsage | undefined,
  next: ImageUsage | undefined,
): ImageUsage | undefined =>
  before && next
    ? {
        total_tokens: before.total_tokens + next.total_tokens,
        input_tokens: before.input_tokens + next.input_tokens,
        output_tokens: before.output_tokens + next.output_tokens,
        ...sumDetails("input_tokens_details", before, next),
        ...sumDetails("output_tokens_details", before, next),
      }
    : (next ?? before);

function sumDetails(
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
  return { [name]: sums satisfies ExtraFields };
}

/** Splits usage into equal shares, which add up to exactly the total. */
export function splitUsage(usage: ImageUsage, images: number): ImageUsage[] {
  const weights = new Array<number>(images).fill(1);
  const members: [string, number[] | ExtraFields[]][] = [];
  for (const [name, value] of Object.entries(usage)) {
    if (typeof value === "number") members.push([name, shareUsage(value, weights)]);
    else if (typeof value === "object" && value !== null) {
      members.push([name, splitDetails(value as ExtraFields, weights)]);
    }
  }
  return weights.map((_, at) => {
    const share = Object.fromEntries(members.map(([name, parts]) => [name, parts[at]]));
    return share as unknown as ImageUsage;
  });
}

/** Only numeric details can be split. */
function splitDetails(details: ExtraFields, weights: readonly number[]): ExtraFields[] {
  const counts = Object.entries(details).flatMap(([name, count]) =>
    Number.isSafeInteger(count) && (count as number) >= 0
      ? [[name, shareUsage(count as number, weights)] as const]
      : [],
  );
  return weights.map((_, at) =>
    Object.fromEntries(counts.map(([name, parts]) => [name, parts[at]])),
  );
}
