/** The reservation of a request: budgets create it, and the request record holds it until the request ends. */

/** The part of the budgets that is reserved for one request. The ledger row of the request charges them. */
export interface Reservation {
  /** The estimated cost in US dollars. Undefined if it could not be estimated. */
  readonly estimate: number | undefined;
  /** The upper bound of the cost is reserved; `isLikely`: the estimate, because only that fits into one of the budgets. */
  readonly dollars: number | undefined;
  readonly isLikely: boolean;
  /** The request has ended. A second call does nothing. */
  release(): void;
}
