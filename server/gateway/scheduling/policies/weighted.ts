/** By chance, in proportion to the weights. One that has just come back begins with a tenth of its own. */
import type { Policy, Seat } from "./policy.ts";

export const weighted: Policy = (seats, { now, random }) => drawOne(seats, now, random, undefined);

export const weightOf = ({ weight, health }: Seat, now: number): number =>
  weight * health.breaker.share(now);

/** `except`: not this one, where there is another. */
export function drawOne(
  seats: readonly Seat[],
  now: number,
  random: () => number,
  except: Seat | undefined,
): Seat {
  let sum = 0;
  for (const seat of seats) if (seat !== except) sum += weightOf(seat, now);
  let left = random() * sum;
  let drawn = seats[0] as Seat;
  for (const seat of seats) {
    if (seat === except) continue;
    drawn = seat;
    left -= weightOf(seat, now);
    if (left < 0) break;
  }
  return drawn;
}
