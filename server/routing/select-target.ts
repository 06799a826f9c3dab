/**
 * Target selection: the candidates that can serve a request, the lowest tier that has a healthy candidate, and within
 * that tier the candidate that the model's policy picks.
 */

import { GatewayError } from "../lib/gateway-error.ts";
import type { TriedTargets } from "../request/stage.ts";
import type { Target } from "../upstream/contract.ts";
import type { TargetHealth } from "./health/target-health.ts";
import { type Candidate, hashToUnit, type Policy, type SelectionContext } from "./policies.ts";

/** The gateway's own limits (rates and concurrency slots) of a target. */
export interface TargetCapacity {
  /** No rate limit of the target is reached. */
  hasCapacity(target: Target): boolean;
  /** All concurrency slots are taken: another request would wait. */
  isBusy(target: Target): boolean;
}

export interface Selection {
  /** The targets that support the request, sorted by tier. */
  readonly candidates: readonly Candidate[];
  readonly policy: Policy;
  /** Candidates that the request has already tried. */
  readonly tried: readonly Candidate[] | undefined;
  /** Undefined: targets have no limits. */
  readonly capacity: TargetCapacity | undefined;
  /** Set during selection: at least one candidate was skipped. */
  skippedAny?: boolean;
  /** Set by the selection: what selected the candidate. */
  selectedBy?: SelectedBy;
  /** Set by the selection: the number of candidates that the policy compared. 1: there was no choice. */
  compared?: number;
}

/** `probe`: a half-open probe of an ejected candidate. `degraded`: no candidate is healthy. */
export type SelectedBy = "policy" | "probe" | "degraded";

/**
 * Which ejected candidates may get the request as a half-open probe. `any`: the first due candidate, even if healthy
 * ones exist; otherwise recovery goes unnoticed. `checked`: where a probe costs money, only after a free health check
 * passed.
 */
type ProbeMode = "any" | "checked" | "none";

/** Undefined: no candidate is available now. */
export function selectTarget(
  selection: Selection,
  context: SelectionContext,
  probeMode: ProbeMode = "any",
): Candidate | undefined {
  const healthy = selectHealthy(selection, context, probeMode);
  if (healthy) return healthy;
  selection.selectedBy = "degraded";
  return selectDegraded(selection, context.now);
}

/** The available candidates by their load. */
interface Available {
  readonly idle: Candidate[];
  readonly busy: Candidate[];
  readonly inSlowStart: Candidate[];
  readonly atHardLimit: Candidate[];
}

export function selectHealthy(
  selection: Selection,
  context: SelectionContext,
  probeMode: ProbeMode,
): Candidate | undefined {
  const { candidates, tried, capacity } = selection;
  selection.selectedBy = "policy";
  const available: Available = { idle: [], busy: [], inSlowStart: [], atHardLimit: [] };
  const { inSlowStart, atHardLimit } = available;
  for (let at = 0; at < candidates.length; at++) {
    const candidate = candidates[at] as Candidate;
    if (!tried?.includes(candidate)) {
      const state = stateOf(candidate, selection, context.now);
      if (state === "probe" && mayProbe(candidate, context.now, probeMode)) {
        selection.selectedBy = "probe";
        return candidate;
      }
      if (state === "available") loadClass(candidate, available, capacity, context).push(candidate);
      else selection.skippedAny = true;
    }
    if (candidates[at + 1]?.tier === candidate.tier) continue;
    const chosen = chooseInTier(selection, available, context);
    if (chosen) return chosen;
  }
  // A target at its hard limit is waited for only if no other candidate is available. Candidates that slow start holds
  // back do not count as available here.
  if (atHardLimit.length > 0) return choose(selection, lowestTier(atHardLimit), context);
  // Every remaining candidate is in slow start: no other candidate can take its load.
  return inSlowStart.length > 0 ? choose(selection, lowestTier(inSlowStart), context) : undefined;
}

const stateOf = (
  { health, target }: Candidate,
  { candidates, capacity }: Selection,
  now: number,
): ReturnType<TargetHealth["state"]> =>
  hasCapacity(capacity, target) ? health.state(now, candidates.length === 1) : "unavailable";

/** The list that an available candidate belongs to. */
function loadClass(
  candidate: Candidate,
  { idle, busy, inSlowStart, atHardLimit }: Available,
  capacity: TargetCapacity | undefined,
  context: SelectionContext,
): Candidate[] {
  const { concurrency } = candidate.health;
  if (isHeldBackBySlowStart(candidate, context)) return inSlowStart;
  if (concurrency.isHardLimited && candidate.health.isAtHardLimit(context.now)) return atHardLimit;
  return concurrency.hasCapacity() && !isBusy(capacity, candidate.target) ? idle : busy;
}

/**
 * Chooses among the idle candidates of the tier or, if there are none, among the busy ones: a busy tier is not a failed
 * one, and the next tier may cost more.
 */
function chooseInTier(
  selection: Selection,
  { idle, busy, inSlowStart, atHardLimit }: Available,
  context: SelectionContext,
): Candidate | undefined {
  if (inSlowStart.length > 0 || atHardLimit.length > 0 || (busy.length > 0 && idle.length > 0))
    selection.skippedAny = true;
  const available = idle.length > 0 ? idle : busy;
  return available.length > 0 ? choose(selection, available, context) : undefined;
}

function mayProbe({ health }: Candidate, now: number, probeMode: ProbeMode): boolean {
  return probeMode === "any" || (probeMode === "checked" && health.mayProbe(now));
}

/** A single candidate needs no policy. */
function choose(
  selection: Selection,
  candidates: readonly Candidate[],
  context: SelectionContext,
): Candidate | undefined {
  selection.compared = candidates.length;
  return candidates.length === 1 ? candidates[0] : selection.policy(candidates, context);
}

const lowestTier = (candidates: readonly Candidate[]): Candidate[] =>
  candidates.filter(({ tier }) => tier === candidates[0]?.tier);

export const hasCapacity = (capacity: TargetCapacity | undefined, target: Target): boolean =>
  capacity === undefined || target.scopes === undefined || capacity.hasCapacity(target);

export const isBusy = (capacity: TargetCapacity | undefined, target: Target): boolean =>
  capacity !== undefined && target.scopes !== undefined && capacity.isBusy(target);

/**
 * Selects among unhealthy candidates. One that serves part of its requests is better than none, and one that was down
 * may have recovered. A candidate at one of the gateway's own limits comes last: that limit has its own error.
 */
function selectDegraded(
  { candidates, tried, capacity }: Selection,
  now: number,
): Candidate | undefined {
  const alone = candidates.length === 1;
  let best: Candidate | undefined;
  let due: Candidate | undefined;
  let limited: Candidate | undefined;
  for (const candidate of candidates) {
    if (tried?.includes(candidate)) continue;
    const { health, target } = candidate;
    const state = health.state(now, alone);
    const isLimited = !hasCapacity(capacity, target);
    if (isLimited && state !== "unavailable") limited ??= candidate;
    else if (!isLimited && state === "degraded") best = lessDegraded(best, candidate, now);
    else if (!isLimited && health.waitMs(now) === 0) due ??= candidate;
  }
  return best ?? due ?? limited;
}

function lessDegraded(best: Candidate | undefined, other: Candidate, now: number): Candidate {
  if (!best) return other;
  const difference = other.health.failureRate(now) - best.health.failureRate(now);
  if (difference === 0) return other.health.inFlight < best.health.inFlight ? other : best;
  return difference < 0 ? other : best;
}

/** Whether any candidate would be selected, checked before work is done for a request. */
export const hasSelectable = (selection: Selection, now: number): boolean =>
  selection.candidates.some(
    ({ health }) => health.state(now, selection.candidates.length === 1) === "available",
  ) || selectDegraded(selection, now) !== undefined;

/**
 * The error for a request without an available target: with the shortest wait, and as a rate limit if every target is
 * rate limited.
 */
export function noHealthyTarget(
  model: string,
  candidates: readonly Candidate[],
  now: number,
): GatewayError {
  let soonestMs = Number.POSITIVE_INFINITY;
  let limited = true;
  for (const { health } of candidates) {
    soonestMs = Math.min(soonestMs, health.waitMs(now));
    if (!health.isRateLimited(now)) limited = false;
  }
  const details = { retryAfterMs: Math.max(1, Math.ceil(soonestMs)) };
  if (limited) {
    return new GatewayError(
      "upstream_rate_limit",
      `The upstream's rate limit for the model \`${model}\` is reached. Please retry your request after a brief delay.`,
      details,
    );
  }
  return new GatewayError(
    "no_healthy_target",
    `No upstream of the model \`${model}\` is available. Please retry your request after a brief delay.`,
    details,
  );
}

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
export function capableCandidates<R>(
  candidates: readonly Candidate[],
  request: R,
  canServe: (request: R, target: Target) => boolean,
): readonly Candidate[] {
  if (candidates.length === 1) return candidates;
  let capable: Candidate[] | undefined;
  for (let at = 0; at < candidates.length; at++) {
    const candidate = candidates[at] as Candidate;
    if (canServe(request, candidate.target)) capable?.push(candidate);
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

/**
 * Slow start: a recovered target gets a tenth of its share of selections at first and all of it after ten seconds,
 * independent of policy and traffic. Selections are skipped at random and no weights are changed, so this also works at
 * one request a minute. True: the request goes to another candidate, if there is one.
 */
function isHeldBackBySlowStart(
  { health, stableHash }: Candidate,
  { now, random, affinityHash }: SelectionContext,
): boolean {
  const share = health.breaker.rampShare(now);
  if (share === 1) return false;
  // With the sticky policy, API keys return to the target one after the other and do not switch back and forth.
  return (affinityHash === 0 ? random() : hashToUnit(affinityHash, ~stableHash)) >= share;
}
