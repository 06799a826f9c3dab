/**
 * One that has just come back gets a tenth of its part of the picks at first, and all of it after ten seconds, whatever
 * the policy and however many call. A share of picks holds with one call a minute, too, where queues say nothing.
 */
import { hashToUnit } from "../policies/hash-to-unit.ts";
import type { Candidate, SelectionContext } from "../policies/policy.ts";

/** This call goes to another, where there is one. */
export function isSpared(
  { health, stableHash }: Candidate,
  { now, random, affinityHash }: SelectionContext,
): boolean {
  const share = health.breaker.share(now);
  if (share === 1) return false;
  // Callers that stay with one target come back to it one after the other, and not to and fro.
  return (affinityHash === 0 ? random() : hashToUnit(affinityHash, ~stableHash)) >= share;
}
