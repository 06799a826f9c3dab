/** The reservation of a request: budgets create it, and the request record holds it until the request is settled. */

/** The part of the budgets that is reserved for one request. */
export interface Reservation {
  /** The estimated cost in US dollars. Undefined if it could not be estimated. */
  readonly estimate: number | undefined;
  /** Replaces the reservation by the charge of the request, in US dollars. */
  settle(dollars: number): void;
  /** Releases the reservation of a request that cannot have been billed. */
  release(): void;
}
