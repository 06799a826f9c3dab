/** Which target is asked, of those that could serve a call: the lowest tier with one that is well, and there as the policy says. */
import { GatewayError } from "../../std/gateway-error.ts";
import type { Target } from "../../upstream/contract.ts";
import type { Policy, Question, Seat } from "./policies/policy.ts";
import type { TargetHealth } from "./target-health.ts";

/** What the gateway's own limits say of a target. */
export interface Room {
  /** True, or the milliseconds until there is some. */
  hasRoom(target: Target): true | number;
  /** As many calls are there as may be: another would wait. */
  isBusy(target: Target): boolean;
}

export interface Choosing {
  /** Those that can do what the call asks, by tier. */
  readonly seats: readonly Seat[];
  readonly policy: Policy;
  /** Asked already. */
  readonly tried: readonly Seat[] | undefined;
  /** Absent: nothing is limited. */
  readonly room: Room | undefined;
}

/** Undefined: there is nobody who may be asked now. */
export function choose(choosing: Choosing, question: Question): Seat | undefined {
  return chooseWell(choosing, question, true) ?? chooseDoubtful(choosing, question.now);
}

/** Used within one call of `chooseWell`, and never while another is under way. */
const free: Seat[] = [];
const full: Seat[] = [];

/** `probes`: one that may be back is tried before those that are well, or it would never be known. */
export function chooseWell(
  { seats, policy, tried, room }: Choosing,
  question: Question,
  probes: boolean,
): Seat | undefined {
  const { now } = question;
  const alone = seats.length === 1;
  free.length = 0;
  full.length = 0;
  for (let at = 0; at < seats.length; at++) {
    const seat = seats[at] as Seat;
    const { health, target } = seat;
    if (!tried?.includes(seat) && hasRoom(room, target)) {
      const standing = health.standing(now, alone);
      if (standing === "probe" && probes) return seat;
      if (standing === "in") (health.hasRoom() && !isBusy(room, target) ? free : full).push(seat);
    }
    if (seats[at + 1]?.tier === seat.tier) continue;
    // A busy tier is not a broken one: what comes after it may cost more.
    if (free.length > 0) return policy(free, question);
    if (full.length > 0) return policy(full, question);
  }
  return undefined;
}

const hasRoom = (room: Room | undefined, target: Target): boolean =>
  room === undefined || target.scopes === undefined || room.hasRoom(target) === true;

export const isBusy = (room: Room | undefined, target: Target): boolean =>
  room !== undefined && target.scopes !== undefined && room.isBusy(target);

/**
 * Nobody is well. One that serves some of its calls is better than none, and one that was dead may be back. One that is
 * at a limit of ours comes last: that limit has its own words.
 */
function chooseDoubtful({ seats, tried, room }: Choosing, now: number): Seat | undefined {
  const alone = seats.length === 1;
  let best: Seat | undefined;
  let due: Seat | undefined;
  let limited: Seat | undefined;
  for (const seat of seats) {
    if (tried?.includes(seat)) continue;
    const { health, target } = seat;
    const standing = health.standing(now, alone);
    if (!hasRoom(room, target)) {
      if (standing !== "out") limited ??= seat;
    } else if (standing === "doubtful") {
      if (!best || isLessDoubtful(health, best.health, now)) best = seat;
    } else if (health.waitMs(now) === 0) due ??= seat;
  }
  return best ?? due ?? limited;
}

function isLessDoubtful(a: TargetHealth, b: TargetHealth, now: number): boolean {
  const difference = a.failing(now) - b.failing(now);
  return difference < 0 || (difference === 0 && a.inFlight < b.inFlight);
}

/** What a caller is told when there is nobody: how long it will be at least, and whether it is only a matter of rate. */
export function nobody(model: string, seats: readonly Seat[], now: number): GatewayError {
  let soonestMs = Number.POSITIVE_INFINITY;
  let limited = true;
  for (const { health } of seats) {
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
