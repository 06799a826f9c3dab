/**
 * Two by chance, and of these the one with less before it: calls under way, times what a call there takes. That is
 * nearly as good as looking at all of them, does not send everyone to the same place, and turns away from a target that
 * hangs long before anybody's time is over.
 */
import type { Candidate, Policy, SelectionContext } from "./policy.ts";
import { drawWeighted } from "./weighted.ts";

/** Differences below this are noise: then the weights decide, and all targets stay known. */
const noiseFactor = 1.5;

export const powerOfTwoChoices: Policy = (candidates, context) => {
  if (candidates.length === 1) return candidates[0] as Candidate;
  const { random } = context;
  const one = drawWeighted(candidates, random, undefined);
  const two = drawWeighted(candidates, random, one);
  return isLessLoaded(two, one, context) ? two : one;
};

function isLessLoaded(a: Candidate, b: Candidate, { now, sizeClass }: SelectionContext): boolean {
  const [aMs, bMs] = [a.health.pace.meanMs(now, sizeClass), b.health.pace.meanMs(now, sizeClass)];
  // As long as one of them is not known, it counts as quick as the other.
  const known = aMs !== undefined && bMs !== undefined;
  const forA = relativeLoad(a) * (known ? Math.max(aMs, leastMs) : 1);
  const forB = relativeLoad(b) * (known ? Math.max(bMs, leastMs) : 1);
  return forA * noiseFactor < forB;
}

/** Below this the clock and the event loop take longer than the target. */
const leastMs = 1;

/** That some of its calls fail does not count here: whoever is avoided for that is never seen to be well again. */
const relativeLoad = ({ health, weight }: Candidate): number => 1 + health.inFlight / weight;
