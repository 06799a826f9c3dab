/** What a request takes from the limits and budgets that replicas share, and what it returns to them. */

/** A rate limit: a token bucket with the capacity of one minute. A part is 1/60,000 of an item. */
export interface RateDemand {
  readonly name: string;
  /** Items per minute. */
  readonly limit: number;
  /** Items to take. Settlement: items to take in addition, or, if negative, to refund. */
  readonly count: number;
  /** The parts that a full bucket has more, as far as this replica knows. Used if the shared bucket is lost. */
  readonly missing: number;
}

/** A concurrency limit, of which the request needs one slot. */
export interface SlotDemand {
  readonly name: string;
  readonly limit: number;
}

/** A budget in US dollars. */
export interface BudgetDemand {
  readonly name: string;
  readonly limit: number;
  /** The upper bound of the cost, which is reserved if it fits. 0: unknown; the budget must not be used up. */
  readonly maxDollars: number;
  /** The likely cost, which is reserved if only that fits. One request at a time may reserve it. */
  readonly dollars: number;
  /** The amount spent according to the ledger and to this replica: the shared amount is at least this. */
  readonly spent: number;
}

export interface LimitsDemand {
  /** The name of the slots and reservations. No other request has it. Empty: only the state is read. */
  readonly hold: string;
  /** The replica that asks. It receives a notice if it lacks a slot and one is released. */
  readonly replica: string;
  readonly rates: readonly RateDemand[];
  readonly slots: readonly SlotDemand[];
  readonly budgets: readonly BudgetDemand[];
}

/**
 * `rate_exceeded` and `over_budget`: nothing was taken. `no_slot`: only from the rate limits was taken, and the replica
 * is queued for the slots that the request lacks.
 */
export type LimitsOutcome = "taken" | "rate_exceeded" | "over_budget" | "no_slot";

export interface SlotState {
  /** Requests in flight on all replicas. */
  readonly inFlight: number;
  /** Free slots, without those for replicas that have waited longer. May be negative. */
  readonly available: number;
}

/** The reservation in a budget: of the upper bound, of the likely cost, or none, because it does not fit. */
export type Reserved = "maximum" | "likely" | "nothing";

export interface BudgetState {
  readonly spent: number;
  /** Reserved for requests in flight on all replicas. */
  readonly reserved: number;
  readonly reservation: Reserved;
}

/** The state after the call, in the order of the demand. */
export interface LimitsReply {
  readonly outcome: LimitsOutcome;
  /** The missing parts of each bucket. */
  readonly missing: readonly number[];
  readonly slots: readonly SlotState[];
  readonly budgets: readonly BudgetState[];
}

/** A slot that a request holds. */
export interface HeldSlot {
  readonly name: string;
  readonly hold: string;
}

/** An amount that is reserved for a request. */
export interface HeldReservation {
  readonly name: string;
  readonly hold: string;
  readonly dollars: number;
  readonly reservation: Exclude<Reserved, "nothing">;
}

export interface BudgetSettlement {
  readonly name: string;
  /** Undefined: nothing was reserved in the shared budget. */
  readonly held: HeldReservation | undefined;
  /** The actual cost. */
  readonly dollars: number;
}

export interface LimitsSettlement {
  readonly rates: readonly RateDemand[];
  readonly slots: readonly HeldSlot[];
  readonly budgets: readonly BudgetSettlement[];
}

/**
 * The slots and reservations of a replica that died return after this time. It is shorter than the queue timeout of
 * embeddings, so that a request that waits for these slots is served.
 */
export const leaseMs = 3000;
