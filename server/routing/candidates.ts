/** Narrows a model's targets down to the candidates for one request. */
import { GatewayError } from "../lib/gateway-error.ts";
import type { TriedTargets } from "../request/stage.ts";
import type { Target } from "../upstream/contract.ts";
import type { Candidate } from "./policies/policy.ts";
import type { Selection } from "./select-target.ts";

/** For a request that fills in missing images: the candidates that have not been tried for it. */
export const untriedCandidates = (
  candidates: readonly Candidate[],
  { failure, targets }: TriedTargets,
): readonly Candidate[] =>
  failure ? candidates.filter(({ target }) => !targets.has(target)) : candidates;

/**
 * The candidates that support the request; the same array if all do. A single target is always kept: its own error is
 * the most precise one.
 */
export function capableCandidates(
  candidates: readonly Candidate[],
  isCapable: (target: Target) => boolean,
): readonly Candidate[] {
  if (candidates.length === 1) return candidates;
  let capable: Candidate[] | undefined;
  for (let at = 0; at < candidates.length; at++) {
    const candidate = candidates[at] as Candidate;
    if (isCapable(candidate.target)) capable?.push(candidate);
    else capable ??= candidates.slice(0, at);
  }
  return capable ?? candidates;
}

/** Whether a healthy candidate is left that this request has not tried. */
export function hasUntriedHealthy({ candidates, tried }: Selection, now: number): boolean {
  for (const candidate of candidates) {
    if (!tried?.includes(candidate) && candidate.health.state(now, false) === "available")
      return true;
  }
  return false;
}

/** Starts a free health check of each skipped candidate that is due for a probe. */
export function startHealthChecks(
  { candidates }: Selection,
  selected: Candidate | undefined,
  now: number,
  checkHealth: (target: Target) => Promise<boolean>,
  clock: () => number,
): void {
  for (const { health, tier } of candidates) {
    if (selected && (health === selected.health || tier > selected.tier)) continue;
    if (health.state(now, false) === "probe") health.skipProbe(now, checkHealth, clock);
  }
}

export const noCapableTarget = (model: string): GatewayError =>
  new GatewayError(
    "upstream_invalid",
    `No target of the model \`${model}\` can serve this request: the targets that support its parameters have drifted or were not compared yet, so their vectors may not fit the model's vector space. Ask the operator of this gateway.`,
  );
