/**
 * Target selection: the candidates that can serve a request, the lowest tier that has a healthy candidate, and within
 * that tier the candidate that the model's policy picks.
 */

import { GatewayError } from "../lib/gateway-error.ts";
import type { Target } from "../upstream/contract.ts";
import type { Candidate, Policy, SelectionContext } from "./policies.ts";

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
  /** Undefined if targets have no limits. */
  readonly capacity: TargetCapacity | undefined;
}

/** `probe`: a half-open probe of an ejected candidate. `unhealthy`: no candidate is healthy. */
export type SelectedBy = "policy" | "probe" | "unhealthy";

export interface SelectedTarget {
  readonly candidate: Candidate;
  readonly by: SelectedBy;
  /** The number of candidates that the policy compared. 1: there was no choice. */
  readonly compared: number;
  /** At least one candidate was skipped. */
  readonly skippedAny: boolean;
}

/**
 * Which ejected candidates may get the request as a half-open probe. `any`: the first due candidate, even if healthy
 * ones exist; otherwise recovery goes unnoticed. `checked`: where a probe costs money, only after a free health check
 * passed.
 */
export type ProbeMode = "any" | "checked" | "none";

/** Undefined if no candidate is available now. */
export function selectTarget(
  selection: Selection,
  context: SelectionContext,
  probeMode: ProbeMode = "any",
): SelectedTarget | undefined {
  const healthy = selectHealthy(selection, context, probeMode);
  if (healthy) return healthy;
  const candidate = selectAvailable(selection, context.now);
  return candidate && { candidate, by: "unhealthy", compared: 1, skippedAny: true };
}

/** The healthy candidates by their load. */
interface ByLoad {
  readonly idle: Candidate[];
  readonly busy: Candidate[];
  readonly atHardLimit: Candidate[];
  /** At least one candidate was skipped. */
  skippedAny: boolean;
}

export function selectHealthy(
  selection: Selection,
  context: SelectionContext,
  probeMode: ProbeMode,
): SelectedTarget | undefined {
  const { candidates, tried } = selection;
  const byLoad: ByLoad = { idle: [], busy: [], atHardLimit: [], skippedAny: false };
  for (let at = 0; at < candidates.length; at++) {
    const candidate = candidates[at] as Candidate;
    if (!tried?.includes(candidate) && !addByLoad(candidate, byLoad, selection, context.now)) {
      if (isProbe(candidate, selection, context.now, probeMode))
        return { candidate, by: "probe", compared: 1, skippedAny: byLoad.skippedAny };
      byLoad.skippedAny = true;
    }
    if (candidates[at + 1]?.tier === candidate.tier) continue;
    const chosen = chooseInTier(selection, byLoad, context);
    if (chosen) return chosen;
  }
  // A target at its hard limit is waited for only if no other candidate is available.
  if (byLoad.atHardLimit.length === 0) return undefined;
  return choose(selection, lowestTier(byLoad.atHardLimit), context, true);
}

/** False: the candidate is not healthy, or at one of the gateway's own limits. */
function addByLoad(
  candidate: Candidate,
  { idle, busy, atHardLimit }: ByLoad,
  { capacity }: Selection,
  now: number,
): boolean {
  const { health, target } = candidate;
  if (health.state(now) !== "healthy" || !hasCapacity(capacity, target)) return false;
  const isIdle = health.concurrency.hasCapacity() && !isBusy(capacity, target);
  if (health.isAtHardLimit(now)) atHardLimit.push(candidate);
  else (isIdle ? idle : busy).push(candidate);
  return true;
}

/**
 * Chooses among the idle candidates of the tier or, if there are none, among the busy ones: a busy tier is not a failed
 * one, and the next tier may cost more.
 */
function chooseInTier(
  selection: Selection,
  byLoad: ByLoad,
  context: SelectionContext,
): SelectedTarget | undefined {
  const { idle, busy, atHardLimit } = byLoad;
  if (atHardLimit.length > 0 || (idle.length > 0 && busy.length > 0)) byLoad.skippedAny = true;
  const available = idle.length > 0 ? idle : busy;
  return available.length > 0
    ? choose(selection, available, context, byLoad.skippedAny)
    : undefined;
}

/** Whether the request may be sent to this ejected candidate as a half-open probe. */
const isProbe = (
  { health, target }: Candidate,
  { capacity }: Selection,
  now: number,
  probeMode: ProbeMode,
): boolean =>
  probeMode !== "none" &&
  health.breaker.isProbeDue(now) &&
  (probeMode === "any" || health.mayBePaidProbe) &&
  hasCapacity(capacity, target);

/** A single candidate needs no policy. */
function choose(
  { policy }: Selection,
  candidates: readonly Candidate[],
  context: SelectionContext,
  skippedAny: boolean,
): SelectedTarget {
  const [first] = candidates as readonly [Candidate];
  const candidate = candidates.length === 1 ? first : policy(candidates, context);
  return { candidate, by: "policy", compared: candidates.length, skippedAny };
}

const lowestTier = (candidates: readonly Candidate[]): Candidate[] =>
  candidates.filter(({ tier }) => tier === candidates[0]?.tier);

export const hasCapacity = (capacity: TargetCapacity | undefined, target: Target): boolean =>
  capacity === undefined || target.scopes === undefined || capacity.hasCapacity(target);

export const isBusy = (capacity: TargetCapacity | undefined, target: Target): boolean =>
  capacity !== undefined && target.scopes !== undefined && capacity.isBusy(target);

/**
 * Selects among the candidates that need no wait, healthy or not: first one that is not ejected (it may cool down, if
 * the target has not given a time itself), then an ejected one that is due for a probe. A candidate at one of the
 * gateway's own limits comes last: that limit has its own error.
 */
function selectAvailable(
  { candidates, tried, capacity }: Selection,
  now: number,
): Candidate | undefined {
  let notEjected: Candidate | undefined;
  let due: Candidate | undefined;
  let limited: Candidate | undefined;
  for (const candidate of candidates) {
    const { health, target } = candidate;
    if (tried?.includes(candidate) || health.waitMs(now) > 0) continue;
    if (!hasCapacity(capacity, target)) limited ??= candidate;
    else if (health.breaker.isOpen) due ??= candidate;
    else notEjected ??= candidate;
  }
  return notEjected ?? due ?? limited;
}

/** Whether any candidate would be selected, checked before work is done for a request. */
export const hasSelectable = (selection: Selection, now: number): boolean =>
  selectAvailable(selection, now) !== undefined;

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
    if (!tried?.includes(candidate) && candidate.health.state(now) === "healthy") return true;
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
    if (health.breaker.isProbeDue(now)) health.skipPaidProbe(checkHealth, clock);
  }
}

export const noCapableTarget = (model: string): GatewayError =>
  new GatewayError(
    "upstream_invalid",
    `No target of the model \`${model}\` can serve this request: the targets that support its parameters have drifted or were not compared yet, so their vectors may not fit the model's vector space. Ask the operator of this gateway.`,
  );
