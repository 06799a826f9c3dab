/**
 * Each caller stays with one target as long as that serves, in proportion to the weights over all callers. When a target
 * goes or comes, only the callers that it had or gets move (rendezvous hashing, with Schindelhauer and Schomaker's weights).
 */
import type { Policy, Seat } from "./policy.ts";

export const sticky: Policy = (seats, { caller }) => {
  let best = seats[0] as Seat;
  let highest = Number.NEGATIVE_INFINITY;
  for (const seat of seats) {
    const score = -seat.weight / Math.log(mixed(caller, seat.mark));
    if (score <= highest) continue;
    highest = score;
    best = seat;
  }
  return best;
};

/** Above 0 and below 1, and without any likeness between neighbours: the last step of MurmurHash3. */
function mixed(a: number, b: number): number {
  let hash = Math.imul(a ^ Math.imul(b, 0x9e3779b1), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (((hash ^ (hash >>> 16)) >>> 0) + 0.5) / 0x1_0000_0000;
}
