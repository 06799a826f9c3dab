/** The reservation of a request: budgets create it, and the request record holds it until the request is settled. */

/** The part of the budgets that is reserved for one request. */
export interface Reservation {
  /** The estimated cost in US dollars. Undefined if it could not be estimated. */
  readonly estimate: number | undefined;
  /**
   * Settles the request. An unknown cost counts as the estimated cost, which is rather too high than too low.
   * `additionalCost`: the cost of other attempts that may have been billed.
   */
  settle(cost: number | undefined, additionalCost?: number): void;
  /** Releases the reservation of a request that cannot have been billed. */
  release(): void;
}
