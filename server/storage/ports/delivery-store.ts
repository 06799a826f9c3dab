/** Port: the delivery queue of webhook events (at least once), claimed under a lease. It survives a restart. */
import type { DeliveryState, StoredEvent } from "./event-store.ts";

export interface ClaimedDelivery {
  readonly seq: number;
  readonly event: StoredEvent;
  /** The number of earlier attempts. */
  readonly attempts: number;
}

export interface DeliveryOutcome {
  readonly seq: number;
  readonly webhook: string;
  readonly state: DeliveryState;
  /** When it is retried, if it is. */
  readonly due: number;
  readonly at: number;
  readonly status: number | null;
  readonly problem: string | null;
}

export interface DeliveryStatus {
  readonly waiting: number;
  readonly delivered: number;
  readonly abandoned: number;
  readonly last:
    | {
        readonly event: string;
        readonly at: number;
        readonly state: DeliveryState;
        readonly status: number | null;
        readonly problem: string | null;
      }
    | undefined;
}

export interface DeliveryClaim {
  readonly webhook: string;
  /** Unix milliseconds. */
  readonly now: number;
  /** The end of the lease: if the process dies, the next one claims the delivery again after it. */
  readonly until: number;
  /** A delivery that is due later than this was scheduled before the clock was set back, and is due as well. */
  readonly horizon: number;
}

/** Every method rejects once the store is closed. */
export interface DeliveryStore {
  /** Claims the oldest due delivery of a webhook. Two processes never claim the same one. */
  claim(claim: DeliveryClaim): Promise<ClaimedDelivery | undefined>;
  /** Records the outcome of an attempt, unless the delivery is no longer pending. */
  settle(outcome: DeliveryOutcome): Promise<void>;
  /** Undoes a claim: the delivery is due at `due`. */
  release(webhook: string, seq: number, due: number): Promise<void>;
  /** Abandons all pending deliveries of a webhook. Returns how many. */
  abandonAll(webhook: string, problem: string): Promise<number>;
  /**
   * Queues the delivery of an event again, as if it had not been attempted: the count of attempts starts at 0. False:
   * the webhook has no delivery of this event. `now`: Unix milliseconds.
   */
  requeue(webhook: string, eventId: string, now: number): Promise<boolean>;
  /** When the next delivery is due. Undefined: none is pending. */
  nextDue(webhook: string): Promise<number | undefined>;
  /** Counts over the stored events. */
  status(webhook: string): Promise<DeliveryStatus>;
}
