/** What costs least. Of those that cost the same, as by default; one whose price is not known comes last. */
import type { Policy, Seat } from "./policy.ts";
import { twoChoices } from "./two-choices.ts";

export const cheapest: Policy = (seats, question) => {
  let least = Number.POSITIVE_INFINITY;
  let alike: Seat[] = [];
  for (const seat of seats) {
    const price = question.price(seat) ?? Number.POSITIVE_INFINITY;
    if (price > least) continue;
    if (price < least) alike = [];
    least = price;
    alike.push(seat);
  }
  return twoChoices(alike, question);
};
