/** What costs least. Of those that cost the same, as by default; one whose price is not known comes last. */
import type { Candidate, Policy } from "./policy.ts";
import { powerOfTwoChoices } from "./two-choices.ts";

export const cheapest: Policy = (candidates, context) => {
  let least = Number.POSITIVE_INFINITY;
  let alike: Candidate[] = [];
  for (const candidate of candidates) {
    const price = context.price(candidate) ?? Number.POSITIVE_INFINITY;
    if (price > least) continue;
    if (price < least) alike = [];
    least = price;
    alike.push(candidate);
  }
  return powerOfTwoChoices(alike, context);
};
