/**
 * Whom to ask beside those that say nothing: another that is well by now or may be tried, or the same once more. One that
 * hung and is back serves whoever asks it now, and not those who asked it before.
 */

import type { TargetHealth } from "./health/target-health.ts";
import type { Candidate, SelectionContext } from "./policies/policy.ts";
import { hasCapacity, isBusy, type Selection, selectTarget } from "./select-target.ts";

/** Those who wait should be served within five seconds of its return, with a second to spare. */
const maxExtraDelayMs = 4000;

export interface RetrySelection {
  readonly selection: Selection;
  readonly context: SelectionContext;
  readonly peers: readonly TargetHealth[];
  /** When this call last asked whom, of those that it need not ask anew at once. */
  readonly attemptedAt: Map<Candidate, number>;
}

/** Undefined: nobody, for now. */
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
    // A clock that jumped back must not make the wait any longer than it would be from now.
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

/** How long after one context the same target is asked it again. Sooner where it has answered others meanwhile. */
function repeatDelayMs(
  health: TargetHealth,
  at: number,
  size: number,
  peers: readonly TargetHealth[],
): number {
  const patience = health.pace.patienceMs(size, peers);
  return health.hasAnsweredSince(at)
    ? patience
    : Math.max(patience, Math.min(2 * patience, maxExtraDelayMs));
}
