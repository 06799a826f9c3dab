/** Of a model's targets those that come into question for one call. */
import { GatewayError } from "../lib/gateway-error.ts";
import type { Order } from "../request/stage.ts";
import type { Target } from "../upstream/contract.ts";
import type { Candidate } from "./policies/policy.ts";
import type { Selection } from "./select-target.ts";

/** Those that were not asked yet for pictures of which some are missing. */
export const untriedCandidates = (
  candidates: readonly Candidate[],
  { failure, asked }: Order,
): readonly Candidate[] =>
  failure ? candidates.filter(({ target }) => !asked.has(target)) : candidates;

/** The list itself where all of it can. A single target is asked in any case: what it says is the best answer there is. */
export function capableCandidates(
  candidates: readonly Candidate[],
  able: (target: Target) => boolean,
): readonly Candidate[] {
  if (candidates.length === 1) return candidates;
  let some: Candidate[] | undefined;
  for (let at = 0; at < candidates.length; at++) {
    const candidate = candidates[at] as Candidate;
    if (able(candidate.target)) some?.push(candidate);
    else some ??= candidates.slice(0, at);
  }
  return some ?? candidates;
}

/** Is there somebody else, who was not asked yet? */
export function hasUntriedHealthy({ candidates, tried }: Selection, now: number): boolean {
  for (const candidate of candidates) {
    if (!tried?.includes(candidate) && candidate.health.standing(now, false) === "in") return true;
  }
  return false;
}

export const noCapableTarget = (model: string): GatewayError =>
  new GatewayError(
    "upstream_invalid",
    `No target of the model \`${model}\` can serve this call: those that could give vectors that cannot be compared with the model's others. Ask the operator of this gateway.`,
  );
