/**
 * The routing steps of a request in its ledger row: which targets were skipped, retried or hedged, and why. A request
 * that succeeds at its first choice has none.
 */

import type { RequestReport } from "../request/request-report.ts";
import { targetName } from "../request/timeline.ts";
import type { Target } from "../upstream/contract.ts";
import type { Candidate } from "./policies.ts";
import { hasCapacity, isBusy, type Selection } from "./select-target.ts";

export function addStep(report: RequestReport, target: Target, description: string): void {
  report.addStep(`${targetName(target)}: ${description}`);
}

/** Adds a step for each skipped candidate of the selected candidate's tier or a lower one. */
export function addSkippedSteps(
  report: RequestReport,
  selection: Selection,
  selected: Candidate | undefined,
  now: number,
): void {
  const { candidates } = selection;
  for (const candidate of candidates) {
    if (candidate === selected || (selected && candidate.tier > selected.tier)) continue;
    const reason = skipReason(candidate, selection, now);
    if (reason !== undefined) addStep(report, candidate.target, reason);
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
