/** Which target is asked, of those that could serve a call: the lowest tier with one that is well, and there as the policy says. */
import { GatewayError } from "../lib/gateway-error.ts";
import type { Target } from "../upstream/contract.ts";
import { isSpared } from "./health/slow-start.ts";
import type { TargetHealth } from "./health/target-health.ts";
import type { Policy, Question, Seat } from "./policies/policy.ts";

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
  /** Set by those who choose: there was one that was left aside, be it for a moment. */
  passedOver?: boolean;
}

/**
 * Who may be tried that is out, but due for it. `any`: the first, before those that are well, or it would never be known
 * whether it is back. `looked-at`: where a try costs money, only one of which a free question has shown that it may be.
 */
export type Tries = "any" | "looked-at" | "none";

/** Undefined: there is nobody who may be asked now. */
export function choose(
  choosing: Choosing,
  question: Question,
  tries: Tries = "any",
): Seat | undefined {
  return chooseWell(choosing, question, tries) ?? chooseDoubtful(choosing, question.now);
}

/** Used within one call of `chooseWell`, and never while another is under way. */
const free: Seat[] = [];
const full: Seat[] = [];
const spared: Seat[] = [];
const walled: Seat[] = [];

export function chooseWell(choosing: Choosing, question: Question, tries: Tries): Seat | undefined {
  const { seats, policy, tried, room } = choosing;
  const { now } = question;
  const alone = seats.length === 1;
  free.length = 0;
  full.length = 0;
  spared.length = 0;
  walled.length = 0;
  for (let at = 0; at < seats.length; at++) {
    const seat = seats[at] as Seat;
    const { health, target } = seat;
    if (!tried?.includes(seat)) {
      const standing = hasRoom(room, target) ? health.standing(now, alone) : "out";
      if (standing === "probe" && mayTry(seat, now, tries)) return seat;
      if (standing !== "in") choosing.passedOver = true;
      else if (isSpared(seat, question)) spared.push(seat);
      else if (health.concurrency.isWalled && health.isFull(now)) walled.push(seat);
      else (health.concurrency.hasRoom() && !isBusy(room, target) ? free : full).push(seat);
    }
    if (seats[at + 1]?.tier === seat.tier) continue;
    if (spared.length > 0 || walled.length > 0 || (full.length > 0 && free.length > 0))
      choosing.passedOver = true;
    // A busy tier is not a broken one: what comes after it may cost more.
    if (free.length > 0) return policy(free, question);
    if (full.length > 0) return policy(full, question);
  }
  // Whoever says that it is too much is waited for only where nobody else is there.
  if (walled.length > 0) return policy(lowestOf(walled), question);
  // Nobody else can carry what they should be spared.
  return spared.length > 0 ? policy(lowestOf(spared), question) : undefined;
}

function mayTry({ health }: Seat, now: number, tries: Tries): boolean {
  return tries === "any" || (tries === "looked-at" && health.mayBeTried(now));
}

const lowestOf = (seats: readonly Seat[]): Seat[] =>
  seats.filter(({ tier }) => tier === seats[0]?.tier);

export const hasRoom = (room: Room | undefined, target: Target): boolean =>
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

/** Whether somebody would be asked, before anything is done for a call. */
export const isAnyone = (choosing: Choosing, now: number): boolean =>
  choosing.seats.some(({ health }) => health.standing(now, choosing.seats.length === 1) === "in") ||
  chooseDoubtful(choosing, now) !== undefined;

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
