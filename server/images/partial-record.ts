/**
 * Saves the record fields of a partial image response while another target generates the missing images, and merges
 * both afterwards.
 */
import type { AbortSignalLike } from "../lib/abort-signal.ts";
import type { Trip } from "../request/request-record.ts";
import { isBillingUncertain } from "./record-missing.ts";

type SavedFields = Pick<Trip, "cost" | "usage" | "adapted" | "dropped" | "target" | "mayHavePaid">;

/** The images that are requested from other targets. */
interface FollowUpImages {
  readonly count: number;
  /** How many of them may have been billed already. */
  readonly maybeBilled: number;
}

export class PartialRecord {
  readonly #trip: Trip;
  readonly #saved: SavedFields;
  readonly #followUp: FollowUpImages;
  readonly #attempts: number;

  constructor(trip: Trip, followUp: FollowUpImages) {
    const { cost, usage, adapted, dropped, target, mayHavePaid } = trip;
    this.#trip = trip;
    this.#saved = { cost, usage, adapted, dropped, target, mayHavePaid };
    this.#followUp = followUp;
    this.#attempts = initialAttempts(trip);
    trip.cost = undefined;
    trip.mayHavePaid = false;
  }

  /** The follow-up returned images. */
  mergeSuccess(): void {
    const trip = this.#trip;
    const { cost, adapted, dropped } = this.#saved;
    this.#addAttempts();
    trip.cost = cost === undefined || trip.cost === undefined ? undefined : cost + trip.cost;
    trip.adapted = union(adapted, trip.adapted);
    trip.dropped = union(dropped, trip.dropped);
  }

  /** The follow-up failed. */
  mergeFailure(error: unknown, signal: AbortSignalLike): void {
    const trip = this.#trip;
    const { cost, usage, adapted, dropped, target } = this.#saved;
    const newAttempts = this.#addAttempts();
    // Images that arrived and were unusable are billed too.
    const spent = trip.cost ?? 0;
    if (newAttempts > 0 && trip.cost === undefined && isBillingUncertain(error, signal)) {
      trip.unanswered += this.#followUp.count;
    }
    Object.assign(trip, { usage, adapted, dropped, target });
    trip.cost = cost === undefined ? undefined : cost + spent;
  }

  /** Attempts for the missing images are counted separately from attempts for the whole request. */
  #addAttempts(): number {
    const trip = this.#trip;
    const newAttempts = initialAttempts(trip) - this.#attempts;
    const { count, maybeBilled } = this.#followUp;
    trip.completing += newAttempts;
    if (newAttempts > 0) trip.reordered += maybeBilled;
    if (trip.mayHavePaid && newAttempts > 1) {
      trip.unanswered += (newAttempts - 1) * count;
      trip.reordered += (newAttempts - 1) * count;
    }
    trip.mayHavePaid = this.#saved.mayHavePaid;
    return newAttempts;
  }
}

const initialAttempts = ({ attempts, completing }: Trip): number => attempts - completing;

const union = (
  before: readonly string[] | undefined,
  next: readonly string[] | undefined,
): readonly string[] => [...new Set([...(before ?? []), ...(next ?? [])])];
