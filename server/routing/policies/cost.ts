/** Routing policy `cost`: the lowest price; power of two choices among equal prices; unknown prices come last. */
import { p2c } from "./p2c.ts";
import type { Candidate, Policy } from "./policy.ts";

export const cost: Policy = (candidates, context) => {
  let least = Number.POSITIVE_INFINITY;
  let cheapestCandidates: Candidate[] = [];
  for (const candidate of candidates) {
    const price = context.price(candidate) ?? Number.POSITIVE_INFINITY;
    if (price > least) continue;
    if (price < least) cheapestCandidates = [];
    least = price;
    cheapestCandidates.push(candidate);
  }
  return p2c(cheapestCandidates, context);
};
