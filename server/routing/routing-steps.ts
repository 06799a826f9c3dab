/** Why a call went where it went, in few words for its row of the ledger. A call that went straight there has none. */

import type { Trip } from "../request/request-record.ts";
import type { Target } from "../upstream/contract.ts";
import type { Candidate } from "./policies/policy.ts";
import { hasCapacity, isBusy, type Selection } from "./select-target.ts";

/** A call that travels in hundreds of parts has the same to say of each. */
const maxSteps = 24;

/** Which door it was. */
export const nameOf = ({ upstream, model, surface }: Target): string =>
  `${upstream.id}/${model}${surface ? ` (${surface})` : ""}`;

export function addStep(trip: Trip, target: Target, words: string): void {
  const step = `${nameOf(target)}: ${words}`;
  const { steps } = trip;
  if (steps && (steps.length >= maxSteps || steps.includes(step))) return;
  trip.step(step);
}

/** Those that would have been asked as soon as the one that is, and are not. */
export function addSkippedSteps(
  trip: Trip,
  selection: Selection,
  asked: Candidate | undefined,
  now: number,
): void {
  const { candidates } = selection;
  for (const candidate of candidates) {
    if (candidate === asked || (asked && candidate.tier > asked.tier)) continue;
    const why = skipReason(candidate, selection, asked, now);
    if (why !== undefined) addStep(trip, candidate.target, why);
  }
}

function skipReason(
  { health, target, tier }: Candidate,
  { candidates, capacity }: Selection,
  asked: Candidate | undefined,
  now: number,
): string | undefined {
  if (health.standing(now, candidates.length === 1) !== "in") return `out, ${health.why}`;
  if (!hasCapacity(capacity, target)) return "out, at its limits";
  if (!health.concurrency.hasRoom() || isBusy(capacity, target)) return "busy";
  // Of its own tier it may be that chance would have it so.
  return asked && tier < asked.tier ? "spared, it has just come back" : undefined;
}
