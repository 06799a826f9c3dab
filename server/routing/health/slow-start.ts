/**
 * Slow start: a recovered target gets a tenth of its share of selections at first and all of it after ten seconds,
 * independent of policy and traffic. A share of selections works with one request a minute, too, where queue lengths
 * say nothing.
 */
import type { Candidate, SelectionContext } from "../policies/policy.ts";
import { hashToUnit } from "../policies/sticky.ts";

/** True: the request goes to another candidate, if there is one. */
export function isHeldBackBySlowStart(
  { health, stableHash }: Candidate,
  { now, random, affinityHash }: SelectionContext,
): boolean {
  const share = health.breaker.rampShare(now);
  if (share === 1) return false;
  // With the sticky policy, API keys return to the target one after the other and do not switch back and forth.
  return (affinityHash === 0 ? random() : hashToUnit(affinityHash, ~stableHash)) >= share;
}
