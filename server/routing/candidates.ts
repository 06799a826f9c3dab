/** Of a model's targets those that come into question for one call. */
import { GatewayError } from "../lib/gateway-error.ts";
import type { Order } from "../request/stage.ts";
import type { Target } from "../upstream/contract.ts";
import type { Seat } from "./policies/policy.ts";
import type { Choosing } from "./select-target.ts";

/** Those that were not asked yet for pictures of which some are missing. */
export const others = (seats: readonly Seat[], { failure, asked }: Order): readonly Seat[] =>
  failure ? seats.filter(({ target }) => !asked.has(target)) : seats;

/** The list itself where all of it can. A single target is asked in any case: what it says is the best answer there is. */
export function ableOf(seats: readonly Seat[], able: (target: Target) => boolean): readonly Seat[] {
  if (seats.length === 1) return seats;
  let some: Seat[] | undefined;
  for (let at = 0; at < seats.length; at++) {
    const seat = seats[at] as Seat;
    if (able(seat.target)) some?.push(seat);
    else some ??= seats.slice(0, at);
  }
  return some ?? seats;
}

/** Is there somebody else, who was not asked yet? */
export function isAnyWell({ seats, tried }: Choosing, now: number): boolean {
  for (const seat of seats) {
    if (!tried?.includes(seat) && seat.health.standing(now, false) === "in") return true;
  }
  return false;
}

export const unable = (model: string): GatewayError =>
  new GatewayError(
    "upstream_invalid",
    `No target of the model \`${model}\` can serve this call: those that could give vectors that cannot be compared with the model's others. Ask the operator of this gateway.`,
  );
