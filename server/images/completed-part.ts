/** What a call knows of the pictures that are there, put aside while another target is asked for the rest, and added up after. */
import type { Signal } from "../lib/signal.ts";
import type { Trip } from "../request/request-record.ts";
import { isUnsure } from "./record-missing.ts";

type Known = Pick<Trip, "cost" | "usage" | "adapted" | "dropped" | "target" | "mayHavePaid">;

/** What others are asked for. */
interface Asked {
  readonly count: number;
  /** How many of them may have been paid for already. */
  readonly doubtful: number;
}

export class SetAside {
  readonly #trip: Trip;
  readonly #known: Known;
  readonly #asked: Asked;
  readonly #attempts: number;

  constructor(trip: Trip, asked: Asked) {
    const { cost, usage, adapted, dropped, target, mayHavePaid } = trip;
    this.#trip = trip;
    this.#known = { cost, usage, adapted, dropped, target, mayHavePaid };
    this.#asked = asked;
    this.#attempts = firstAttempts(trip);
    trip.cost = undefined;
    trip.mayHavePaid = false;
  }

  /** Something came of it. */
  add(): void {
    const trip = this.#trip;
    const { cost, adapted, dropped } = this.#known;
    this.#addTries();
    trip.cost = cost === undefined || trip.cost === undefined ? undefined : cost + trip.cost;
    trip.adapted = all(adapted, trip.adapted);
    trip.dropped = all(dropped, trip.dropped);
  }

  /** Nothing did. */
  addFailure(error: unknown, signal: Signal): void {
    const trip = this.#trip;
    const { cost, usage, adapted, dropped, target } = this.#known;
    const tries = this.#addTries();
    // What came and could not be used has its cost.
    const spent = trip.cost ?? 0;
    if (tries > 0 && trip.cost === undefined && isUnsure(error, signal)) {
      trip.unanswered += this.#asked.count;
    }
    Object.assign(trip, { usage, adapted, dropped, target });
    trip.cost = cost === undefined ? undefined : cost + spent;
  }

  /** Tries for some of the pictures count as such, and not as tries for all of them. */
  #addTries(): number {
    const trip = this.#trip;
    const tries = firstAttempts(trip) - this.#attempts;
    const { count, doubtful } = this.#asked;
    trip.completing += tries;
    if (tries > 0) trip.reordered += doubtful;
    if (trip.mayHavePaid && tries > 1) {
      trip.unanswered += (tries - 1) * count;
      trip.reordered += (tries - 1) * count;
    }
    trip.mayHavePaid = this.#known.mayHavePaid;
    return tries;
  }
}

const firstAttempts = ({ attempts, completing }: Trip): number => attempts - completing;

const all = (
  before: readonly string[] | undefined,
  next: readonly string[] | undefined,
): readonly string[] => [...new Set([...(before ?? []), ...(next ?? [])])];
