/**
 * Routing policy `sticky`: each API key stays with one target as long as it serves, and the keys are distributed by
 * weight. When a target is added or removed, only its own keys move (weighted rendezvous hashing, Schindelhauer and
 * Schomaker).
 */
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

/**
 * Hashes two numbers to the open interval (0, 1), uncorrelated for neighboring inputs: the finalizer of MurmurHash3.
 */
export function hashToUnit(a: number, b: number): number {
  let hash = Math.imul(a ^ Math.imul(b, 0x9e3779b1), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (((hash ^ (hash >>> 16)) >>> 0) + 0.5) / 0x1_0000_0000;
}
