/**
 * Selects a target for one more attempt while all running attempts have timed out: another candidate that is healthy or
 * due for a probe by now, or the same one again. A target that hung and recovered responds to new requests, but not to
 * those that it received before.
 */

import type { TargetHealth } from "./health/target-health.ts";
import type { Candidate, SelectionContext } from "./policies/policy.ts";
import { hasCapacity, isBusy, type Selection, selectTarget } from "./select-target.ts";

/** Waiting requests should be served within five seconds of the target's recovery; this leaves a second to spare. */
const maxExtraDelayMs = 4000;

export interface RetrySelection {
  readonly selection: Selection;
  readonly context: SelectionContext;
  readonly peers: readonly TargetHealth[];
  /** When this request last tried each candidate. */
  readonly attemptedAt: Map<Candidate, number>;
}

/** Undefined: no candidate is due now. */
export function selectRetryTarget({
  selection,
  context,
  peers,
  attemptedAt,
}: RetrySelection): Candidate | undefined {
  const { candidates, policy, capacity } = selection;
  const isDue = (candidate: Candidate): boolean => {
    const at = attemptedAt.get(candidate);
    if (at === undefined) return true;
    const silentMs = context.now - at;
    // A clock that jumps back must not make the wait longer than it would be from now.
    if (silentMs < 0) attemptedAt.set(candidate, context.now);
    return silentMs >= repeatDelayMs(candidate.health, at, context.sizeClass, peers);
  };
  const tried = candidates.filter((candidate) => !isDue(candidate));
  if (tried.length === candidates.length) return undefined;
  const candidate = selectTarget({ candidates, policy, capacity, tried }, context);
  return candidate && hasCapacity(capacity, candidate.target) && !isBusy(capacity, candidate.target)
    ? candidate
    : undefined;
}

/** The delay before the same target gets the request again. Shorter if it has responded to other requests meanwhile. */
function repeatDelayMs(
  health: TargetHealth,
  at: number,
  size: number,
  peers: readonly TargetHealth[],
): number {
  const timeout = health.latency.timeoutMs(size, peers);
  return health.hasRespondedSince(at)
    ? timeout
    : Math.max(timeout, Math.min(2 * timeout, maxExtraDelayMs));
}
