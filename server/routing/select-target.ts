/** Which target is asked, of those that could serve a call: the lowest tier with one that is well, and there as the policy says. */
import { GatewayError } from "../lib/gateway-error.ts";
import type { Target } from "../upstream/contract.ts";
import { isSpared } from "./health/slow-start.ts";
import type { TargetHealth } from "./health/target-health.ts";
import type { Candidate, Policy, SelectionContext } from "./policies/policy.ts";

/** What the gateway's own limits say of a target. */
export interface TargetCapacity {
  /** True, or the milliseconds until there is some. */
  hasCapacity(target: Target): true | number;
  /** As many calls are there as may be: another would wait. */
  isBusy(target: Target): boolean;
}

export interface Selection {
  /** Those that can do what the call asks, by tier. */
  readonly candidates: readonly Candidate[];
  readonly policy: Policy;
  /** Asked already. */
  readonly tried: readonly Candidate[] | undefined;
  /** Absent: nothing is limited. */
  readonly capacity: TargetCapacity | undefined;
  /** Set by those who choose: there was one that was left aside, be it for a moment. */
  skippedAny?: boolean;
}

/**
 * Who may be tried that is out, but due for it. `any`: the first, before those that are well, or it would never be known
 * whether it is back. `looked-at`: where a try costs money, only one of which a free question has shown that it may be.
 */
export type ProbeMode = "any" | "looked-at" | "none";

/** Undefined: there is nobody who may be asked now. */
export function selectTarget(
  selection: Selection,
  context: SelectionContext,
  tries: ProbeMode = "any",
): Candidate | undefined {
  return selectHealthy(selection, context, tries) ?? selectDegraded(selection, context.now);
}

/** Used within one call of `chooseWell`, and never while another is under way. */
const idle: Candidate[] = [];
const busy: Candidate[] = [];
const inSlowStart: Candidate[] = [];
const atHardLimit: Candidate[] = [];

export function selectHealthy(
  selection: Selection,
  context: SelectionContext,
  tries: ProbeMode,
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
      const standing = hasCapacity(capacity, target) ? health.standing(now, alone) : "out";
      if (standing === "probe" && mayProbe(candidate, now, tries)) return candidate;
      if (standing !== "in") selection.skippedAny = true;
      else if (isSpared(candidate, context)) inSlowStart.push(candidate);
      else if (health.concurrency.isWalled && health.isFull(now)) atHardLimit.push(candidate);
      else
        (health.concurrency.hasRoom() && !isBusy(capacity, target) ? idle : busy).push(candidate);
    }
    if (candidates[at + 1]?.tier === candidate.tier) continue;
    if (inSlowStart.length > 0 || atHardLimit.length > 0 || (busy.length > 0 && idle.length > 0))
      selection.skippedAny = true;
    // A busy tier is not a broken one: what comes after it may cost more.
    if (idle.length > 0) return policy(idle, context);
    if (busy.length > 0) return policy(busy, context);
  }
  // Whoever says that it is too much is waited for only where nobody else is there.
  if (atHardLimit.length > 0) return policy(lowestTier(atHardLimit), context);
  // Nobody else can carry what they should be spared.
  return inSlowStart.length > 0 ? policy(lowestTier(inSlowStart), context) : undefined;
}

function mayProbe({ health }: Candidate, now: number, tries: ProbeMode): boolean {
  return tries === "any" || (tries === "looked-at" && health.mayBeTried(now));
}

const lowestTier = (candidates: readonly Candidate[]): Candidate[] =>
  candidates.filter(({ tier }) => tier === candidates[0]?.tier);

export const hasCapacity = (capacity: TargetCapacity | undefined, target: Target): boolean =>
  capacity === undefined || target.scopes === undefined || capacity.hasCapacity(target) === true;

export const isBusy = (capacity: TargetCapacity | undefined, target: Target): boolean =>
  capacity !== undefined && target.scopes !== undefined && capacity.isBusy(target);

/**
 * Nobody is well. One that serves some of its calls is better than none, and one that was dead may be back. One that is
 * at a limit of ours comes last: that limit has its own words.
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
    const standing = health.standing(now, alone);
    if (!hasCapacity(capacity, target)) {
      if (standing !== "out") limited ??= candidate;
    } else if (standing === "doubtful") {
      if (!best || isLessDegraded(health, best.health, now)) best = candidate;
    } else if (health.waitMs(now) === 0) due ??= candidate;
  }
  return best ?? due ?? limited;
}

function isLessDegraded(a: TargetHealth, b: TargetHealth, now: number): boolean {
  const difference = a.failing(now) - b.failing(now);
  return difference < 0 || (difference === 0 && a.inFlight < b.inFlight);
}

/** Whether somebody would be asked, before anything is done for a call. */
export const hasSelectable = (selection: Selection, now: number): boolean =>
  selection.candidates.some(
    ({ health }) => health.standing(now, selection.candidates.length === 1) === "in",
  ) || selectDegraded(selection, now) !== undefined;

/** What a caller is told when there is nobody: how long it will be at least, and whether it is only a matter of rate. */
export function noHealthyTarget(
  model: string,
  candidates: readonly Candidate[],
  now: number,
): GatewayError {
  let soonestMs = Number.POSITIVE_INFINITY;
  let limited = true;
  for (const { health } of candidates) {
    soonestMs = Math.min(soonestMs, health.waitMs(now));
    if (!health.isLimited(now)) limited = false;
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
    `No upstream of the model \`${model}\` is able to serve at the moment. Please retry your request after a brief delay.`,
    details,
  );
}
