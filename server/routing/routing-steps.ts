/**
 * The routing steps of a request in its ledger row: which targets were skipped, retried or hedged, and why. A request
 * that succeeds at its first choice has none.
 */

import type { Step } from "../../contract/request-steps.ts";
import type { RequestReport } from "../request/request-report.ts";
import { targetName } from "../request/timeline.ts";
import { rateLimit } from "./health/target-health.ts";
import type { Candidate } from "./policies.ts";
import { hasCapacity, isBusy, type Selection } from "./select-target.ts";

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
    const step = skippedStep(candidate, selection, now);
    if (step) report.addStep(...step);
  }
}

/** Undefined if it could have served. */
function skippedStep(
  { health, target: skipped }: Candidate,
  { capacity }: Selection,
  now: number,
): Step | undefined {
  const target = targetName(skipped);
  if (health.state(now) !== "healthy") {
    const { failures: count, last: error } = health.breaker.cause(now);
    if (count > 0) return ["failing", { target, count, error }];
    return error === rateLimit ? ["rate_limited", { target }] : ["cooling", { target, error }];
  }
  if (!hasCapacity(capacity, skipped)) return ["at_limits", { target }];
  const isIdle = health.concurrency.hasCapacity() && !isBusy(capacity, skipped);
  return isIdle ? undefined : ["busy", { target }];
}
