/**
 * What a request takes from the limits and budgets that replicas share, and what it returns to them. Amounts of money
 * are in nano-dollars.
 */

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
  /** How long this replica has waited for its turn. */
  readonly waitedMs: number;
}

/** What this replica knows of a budget. Redis keeps what is newer. */
export interface BudgetView {
  readonly name: string;
  /** The copy of the sum in the ledger's database. Within a period it only grows: the higher one is newer. */
  readonly spent: number;
  /** This replica's ended requests whose rows are not in `spent`. The one of the replica's latest call is newer. */
  readonly ended: number;
}

/** What is reserved in a budget, until it is closed, or not renewed any more. */
export interface OpenEntry {
  /** Of a request: no other one has it. Of a job: every replica reserves it under the same id. */
  readonly id: string;
  readonly nanos: number;
  /** The likely cost, and not the upper bound. */
  readonly isLikely: boolean;
  /** Of two states of an entry, the one with the higher version is newer. */
  readonly version: number;
}

export interface BudgetChange extends BudgetView {
  /** The ids of entries that have ended. */
  readonly closed: readonly string[];
  /** Entries that are open: renewed, or restored if they were lost. */
  readonly open: readonly OpenEntry[];
}

export interface BudgetDemand extends BudgetView {
  readonly limit: number;
  /** The upper bound of the cost, which is reserved if it fits. 0: unknown; the budget must not be used up. */
  readonly most: number;
  /** The likely cost, which is reserved if only that fits. One request at a time may reserve it. */
  readonly likely: number;
}

export interface LimitsDemand {
  /** Of the entries in the slots and in the budgets. No other request has it. Empty: only the state is read. */
  readonly id: string;
  /** The replica that asks. */
  readonly replica: string;
  readonly rates: readonly RateDemand[];
  readonly slots: readonly SlotDemand[];
  readonly budgets: readonly BudgetDemand[];
}

/**
 * `rate_exceeded` and `over_budget`: nothing was taken. `no_slot`: only from the rate limits was taken.
 */
export type LimitsOutcome = "taken" | "rate_exceeded" | "over_budget" | "no_slot";

export interface SlotState {
  /** Requests in flight on all replicas. */
  readonly inFlight: number;
  /** Free slots, without one for the replica that has waited longest. Negative: the limit was lowered. */
  readonly available: number;
}

/** What is reserved in a budget: the upper bound, the likely cost, or nothing, because it does not fit. */
export type Reserved = "maximum" | "likely" | "nothing";

/** A budget of all replicas. */
export interface BudgetState {
  readonly spent: number;
  readonly ended: number;
  /** The sum of the open entries. */
  readonly open: number;
  readonly reserved: Reserved;
}

/** An ended amount of a replica without news for a day, which counts no more. */
export interface ForgottenAmount {
  readonly replica: string;
  readonly nanos: number;
}

/** The state after the call, in the order of the demand. */
export interface LimitsReply {
  readonly outcome: LimitsOutcome;
  /** The missing parts of each bucket. */
  readonly missing: readonly number[];
  readonly slots: readonly SlotState[];
  readonly budgets: readonly BudgetState[];
  readonly forgotten: readonly ForgottenAmount[];
}

/** The entry of a slot in use. */
export interface SlotEntry {
  /** Of the concurrency limit. */
  readonly name: string;
  readonly id: string;
}

/** What has changed at this replica since its last call. */
export interface LimitsUpdate {
  readonly rates: readonly RateDemand[];
  /** Slots that requests have released. */
  readonly released: readonly SlotEntry[];
  /** Slots that are still in use: renewed, or restored if they were lost. */
  readonly renewed: readonly SlotEntry[];
  readonly budgets: readonly BudgetChange[];
  /** With the calls before it, Redis has all of this replica's budgets: those of an earlier process count no more. */
  readonly isComplete?: boolean;
}

/**
 * The slots and reservations of a replica that died return after this time. It is shorter than the queue timeout of
 * embeddings, so that a request that waits for these slots is served.
 */
export const leaseMs = 3000;
