/**
 * Routing policy `p2c`, power of two choices: of two random candidates, the one with less load (requests in flight
 * times mean latency). That is nearly as good as comparing all candidates, avoids sending all requests to the same one,
 * and moves away from a hanging target long before requests time out.
 */
import type { Candidate, Policy, SelectionContext } from "./policy.ts";
import { selectWeighted } from "./weighted.ts";

/** Smaller differences are noise: then the weights decide, and all targets keep being measured. */
const noiseFactor = 1.5;

export const p2c: Policy = (candidates, context) => {
  if (candidates.length === 1) return candidates[0] as Candidate;
  const { random } = context;
  const one = selectWeighted(candidates, random, undefined);
  const two = selectWeighted(candidates, random, one);
  return isLessLoaded(two, one, context) ? two : one;
};

function isLessLoaded(a: Candidate, b: Candidate, { now, sizeClass }: SelectionContext): boolean {
  const [aMs, bMs] = [
    a.health.latency.meanMs(now, sizeClass),
    b.health.latency.meanMs(now, sizeClass),
  ];
  // While one latency is not known, both count as equally fast.
  const known = aMs !== undefined && bMs !== undefined;
  const forA = relativeLoad(a) * (known ? Math.max(aMs, leastMs) : 1);
  const forB = relativeLoad(b) * (known ? Math.max(bMs, leastMs) : 1);
  return forA * noiseFactor < forB;
}

/** Below this the clock and the event loop take longer than the target. */
const leastMs = 1;

/** Failures do not count here: a target that is avoided for them would never be seen to recover. */
const relativeLoad = ({ health, weight }: Candidate): number => 1 + health.inFlight / weight;
