/** Joins what several parts of a response say about how it differs from the request. */
import type { Deviations } from "../upstream/contract.ts";

/** The changed parameters of both. Missing images are not joined: what is missing in one part may be in the other. */
export function joinDeviations(
  one: Deviations | undefined,
  other: Deviations | undefined,
): Deviations | undefined {
  if (!one || !other) return one ?? other;
  return {
    adapted: union(one.adapted, other.adapted),
    dropped: union(one.dropped, other.dropped),
  };
}

const union = (one: readonly string[] = [], other: readonly string[] = []): readonly string[] => [
  ...new Set([...one, ...other]),
];
