/** Why a call went where it went, in few words for its row of the ledger. A call that went straight there has none. */

import type { Trip } from "../request/request-record.ts";
import type { Target } from "../upstream/contract.ts";
import type { Seat } from "./policies/policy.ts";
import { type Choosing, hasRoom, isBusy } from "./select-target.ts";

/** A call that travels in hundreds of parts has the same to say of each. */
const most = 24;

/** Which door it was. */
export const nameOf = ({ upstream, model, surface }: Target): string =>
  `${upstream.id}/${model}${surface ? ` (${surface})` : ""}`;

export function note(trip: Trip, target: Target, words: string): void {
  const step = `${nameOf(target)}: ${words}`;
  const { steps } = trip;
  if (steps && (steps.length >= most || steps.includes(step))) return;
  trip.step(step);
}

/** Those that would have been asked as soon as the one that is, and are not. */
export function notePassedOver(
  trip: Trip,
  choosing: Choosing,
  asked: Seat | undefined,
  now: number,
): void {
  const { seats } = choosing;
  for (const seat of seats) {
    if (seat === asked || (asked && seat.tier > asked.tier)) continue;
    const why = whyNot(seat, choosing, asked, now);
    if (why !== undefined) note(trip, seat.target, why);
  }
}

function whyNot(
  { health, target, tier }: Seat,
  { seats, room }: Choosing,
  asked: Seat | undefined,
  now: number,
): string | undefined {
  if (health.standing(now, seats.length === 1) !== "in") return `out, ${health.why}`;
  if (!hasRoom(room, target)) return "out, at its limits";
  if (!health.concurrency.hasRoom() || isBusy(room, target)) return "busy";
  // Of its own tier it may be that chance would have it so.
  return asked && tier < asked.tier ? "spared, it has just come back" : undefined;
}
