/**
 * Routing policy `sticky`: each API key stays with one target as long as it serves, and the keys are distributed by
 * weight. When a target is added or removed, only its own keys move (weighted rendezvous hashing, Schindelhauer and
 * Schomaker).
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
