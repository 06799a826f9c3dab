/** By chance, in proportion to the weights. */
import type { Policy, Seat } from "./policy.ts";

export const weighted: Policy = (seats, { random }) => drawOne(seats, random, undefined);

/** `except`: not this one, where there is another. */
export function drawOne(
  seats: readonly Seat[],
  random: () => number,
  except: Seat | undefined,
): Seat {
  let sum = 0;
  for (const seat of seats) if (seat !== except) sum += seat.weight;
  let left = random() * sum;
  let drawn = seats[0] as Seat;
  for (const seat of seats) {
    if (seat === except) continue;
    drawn = seat;
    left -= seat.weight;
    if (left < 0) break;
  }
  return drawn;
}
