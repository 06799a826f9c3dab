/**
 * Each caller stays with one target as long as that serves, in proportion to the weights over all callers. When a target
 * goes or comes, only the callers that it had or gets move (rendezvous hashing, with Schindelhauer and Schomaker's weights).
 */
import { hashToUnit } from "./hash-to-unit.ts";
import type { Candidate, Policy } from "./policy.ts";

export const sticky: Policy = (candidates, { affinityHash }) => {
  let best = candidates[0] as Candidate;
  let highest = Number.NEGATIVE_INFINITY;
  for (const candidate of candidates) {
    const score = -candidate.weight / Math.log(hashToUnit(affinityHash, candidate.stableHash));
    if (score <= highest) continue;
    highest = score;
    best = candidate;
  }
  return best;
};
