/**
 * Each caller stays with one target as long as that serves, in proportion to the weights over all callers. When a target
 * goes or comes, only the callers that it had or gets move (rendezvous hashing, with Schindelhauer and Schomaker's weights).
 */
import { chanceOf } from "./hash-to-unit.ts";
import type { Policy, Seat } from "./policy.ts";

export const sticky: Policy = (seats, { caller }) => {
  let best = seats[0] as Seat;
  let highest = Number.NEGATIVE_INFINITY;
  for (const seat of seats) {
    const score = -seat.weight / Math.log(chanceOf(caller, seat.mark));
    if (score <= highest) continue;
    highest = score;
    best = seat;
  }
  return best;
};
