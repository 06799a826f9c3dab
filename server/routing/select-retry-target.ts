/**
 * Whom to ask beside those that say nothing: another that is well by now or may be tried, or the same once more. One that
 * hung and is back serves whoever asks it now, and not those who asked it before.
 */

import type { TargetHealth } from "./health/target-health.ts";
import type { Question, Seat } from "./policies/policy.ts";
import { type Choosing, choose, hasRoom, isBusy } from "./select-target.ts";

/** Those who wait should be served within five seconds of its return, with a second to spare. */
const soonMs = 4000;

export interface Again {
  readonly choosing: Choosing;
  readonly question: Question;
  readonly peers: readonly TargetHealth[];
  /** When this call last asked whom, of those that it need not ask anew at once. */
  readonly askedAt: Map<Seat, number>;
}

/** Undefined: nobody, for now. */
export function chooseAgain({ choosing, question, peers, askedAt }: Again): Seat | undefined {
  const { seats, policy, room } = choosing;
  const isDue = (seat: Seat): boolean => {
    const at = askedAt.get(seat);
    if (at === undefined) return true;
    const silentMs = question.now - at;
    // A clock that jumped back must not make the wait any longer than it would be from now.
    if (silentMs < 0) askedAt.set(seat, question.now);
    return silentMs >= pauseMs(seat.health, at, question.size, peers);
  };
  const tried = seats.filter((seat) => !isDue(seat));
  if (tried.length === seats.length) return undefined;
  const seat = choose({ seats, policy, room, tried }, question);
  return seat && hasRoom(room, seat.target) && !isBusy(room, seat.target) ? seat : undefined;
}

/** How long after one question the same target is asked it again. Sooner where it has answered others meanwhile. */
function pauseMs(
  health: TargetHealth,
  at: number,
  size: number,
  peers: readonly TargetHealth[],
): number {
  const patience = health.pace.patienceMs(size, peers);
  return health.hasAnsweredSince(at)
    ? patience
    : Math.max(patience, Math.min(2 * patience, soonMs));
}
