/**
 * Target selection (load balancing): the candidates that can serve a request, the lowest tier (priority level) that has
 * a healthy candidate, and within that tier the candidate that the model's policy picks.
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
}

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
  return selectHealthy(selection, context, probeMode) ?? selectDegraded(selection, context.now);
}

/** Scratch arrays of `selectHealthy`, which is synchronous and does not nest: no allocation per request. */
const idle: Candidate[] = [];
const busy: Candidate[] = [];
const inSlowStart: Candidate[] = [];
const atHardLimit: Candidate[] = [];

export function selectHealthy(
  selection: Selection,
  context: SelectionContext,
  probeMode: ProbeMode,
): Candidate | undefined {
  const { candidates, policy, tried, capacity } = selection;
  const { now } = context;
  const alone = candidates.length === 1;
  idle.length = 0;
  busy.length = 0;
  inSlowStart.length = 0;
  atHardLimit.length = 0;
  for (let at = 0; at < candidates.length; at++) {
    const candidate = candidates[at] as Candidate;
    const { health, target } = candidate;
    if (!tried?.includes(candidate)) {
      const state = hasCapacity(capacity, target) ? health.state(now, alone) : "unavailable";
      if (state === "probe" && mayProbe(candidate, now, probeMode)) return candidate;
      if (state !== "available") selection.skippedAny = true;
      else if (isHeldBackBySlowStart(candidate, context)) inSlowStart.push(candidate);
      else if (health.concurrency.isHardLimited && health.isAtHardLimit(now))
        atHardLimit.push(candidate);
      else if (health.concurrency.hasCapacity() && !isBusy(capacity, target)) idle.push(candidate);
      else busy.push(candidate);
    }
    if (candidates[at + 1]?.tier === candidate.tier) continue;
    if (inSlowStart.length > 0 || atHardLimit.length > 0 || (busy.length > 0 && idle.length > 0))
      selection.skippedAny = true;
    // A busy tier is not a failed one: the next tier may cost more.
    if (idle.length > 0) return choose(policy, idle, context);
    if (busy.length > 0) return choose(policy, busy, context);
  }
  // A target at its hard limit is waited for only if no other candidate is available. Candidates that slow start holds
  // back do not count as available here.
  if (atHardLimit.length > 0) return choose(policy, lowestTier(atHardLimit), context);
  // Every remaining candidate is in slow start: no other candidate can take its load.
  return inSlowStart.length > 0 ? choose(policy, lowestTier(inSlowStart), context) : undefined;
}

function mayProbe({ health }: Candidate, now: number, probeMode: ProbeMode): boolean {
  return probeMode === "any" || (probeMode === "checked" && health.mayProbe(now));
}

/** A single candidate needs no policy. */
const choose = (
  policy: Policy,
  candidates: readonly Candidate[],
  context: SelectionContext,
): Candidate | undefined => (candidates.length === 1 ? candidates[0] : policy(candidates, context));

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
    if (!hasCapacity(capacity, target)) {
      if (state !== "unavailable") limited ??= candidate;
    } else if (state === "degraded") {
      if (!best || isLessDegraded(health, best.health, now)) best = candidate;
    } else if (health.waitMs(now) === 0) due ??= candidate;
  }
  return best ?? due ?? limited;
}

function isLessDegraded(a: TargetHealth, b: TargetHealth, now: number): boolean {
  const difference = a.failureRate(now) - b.failureRate(now);
  return difference < 0 || (difference === 0 && a.inFlight < b.inFlight);
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

/** Waiting requests should be served within five seconds of the target's recovery; this leaves a second to spare. */
const maxExtraDelayMs = 4000;

interface RetrySelection {
  readonly selection: Selection;
  readonly context: SelectionContext;
  readonly peers: readonly TargetHealth[];
  /** When this request last tried each candidate. */
  readonly attemptedAt: Map<Candidate, number>;
}

/**
 * Selects a target for one more attempt while all running attempts have timed out: another candidate that is healthy or
 * due for a probe by now, or the same one again. A target that hung and recovered responds to new requests, but not to
 * earlier requests. Undefined: no candidate is due now.
 */
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
