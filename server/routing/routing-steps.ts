/**
 * The routing steps of a request in its ledger row: which targets were skipped, retried or hedged, and why. A request
 * that succeeds at its first choice has none.
 */

import type { RequestRecord } from "../request/request-record.ts";
import { targetName } from "../request/timeline.ts";
import type { Target } from "../upstream/contract.ts";
import type { Candidate } from "./policies.ts";
import { hasCapacity, isBusy, type Selection } from "./select-target.ts";

/** The most steps of a request: one that is split into hundreds of chunks would add steps for each of them. */
const maxSteps = 24;

export function addStep(record: RequestRecord, target: Target, description: string): void {
  const step = `${targetName(target)}: ${description}`;
  const { steps } = record;
  if (steps && (steps.length >= maxSteps || steps.includes(step))) return;
  record.addStep(step);
}

/** Adds a step for each skipped candidate of the selected candidate's tier or a lower one. */
export function addSkippedSteps(
  record: RequestRecord,
  selection: Selection,
  selected: Candidate | undefined,
  now: number,
): void {
  const { candidates } = selection;
  for (const candidate of candidates) {
    if (candidate === selected || (selected && candidate.tier > selected.tier)) continue;
    const reason = skipReason(candidate, selection, now);
    if (reason !== undefined) addStep(record, candidate.target, reason);
  }
}

function skipReason(
  { health, target }: Candidate,
  { capacity }: Selection,
  now: number,
): string | undefined {
  if (health.state(now) !== "healthy") return `skipped, ${health.breaker.reason(now)}`;
  if (!hasCapacity(capacity, target)) return "skipped, at its limits";
  const isIdle = health.concurrency.hasCapacity() && !isBusy(capacity, target);
  return isIdle ? undefined : "busy";
}
