/**
 * Two by chance, and of these the one with less before it: calls under way, times what a call there takes. That is
 * nearly as good as looking at all of them, does not send everyone to the same place, and turns away from a target that
 * hangs long before anybody's time is over.
 */
import type { Policy, Question, Seat } from "./policy.ts";
import { drawOne } from "./weighted.ts";

/** Differences below this are noise: then the weights decide, and all targets stay known. */
const alike = 1.5;

export const twoChoices: Policy = (seats, question) => {
  if (seats.length === 1) return seats[0] as Seat;
  const { random } = question;
  const one = drawOne(seats, random, undefined);
  const two = drawOne(seats, random, one);
  return isBetter(two, one, question) ? two : one;
};

function isBetter(a: Seat, b: Seat, { now, size }: Question): boolean {
  const [aMs, bMs] = [a.health.pace.meanMs(now, size), b.health.pace.meanMs(now, size)];
  // As long as one of them is not known, it counts as quick as the other.
  const known = aMs !== undefined && bMs !== undefined;
  const forA = queueOf(a) * (known ? Math.max(aMs, leastMs) : 1);
  const forB = queueOf(b) * (known ? Math.max(bMs, leastMs) : 1);
  return forA * alike < forB;
}

/** Below this the clock and the event loop take longer than the target. */
const leastMs = 1;

/** That some of its calls fail does not count here: whoever is avoided for that is never seen to be well again. */
const queueOf = ({ health, weight }: Seat): number => 1 + health.inFlight / weight;
