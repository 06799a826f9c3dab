/** Budgets in US dollars: of an API key, or of a project, which is a group of keys. */
import type { Period } from "./utc-periods.ts";

export interface Budget extends Readonly<Partial<Record<Period, number>>> {
  /** Whether requests of unknown price are allowed or refused. */
  readonly unknownPrice: "allow" | "refuse";
}

/** The API key or project that a request is charged to. */
export interface BudgetOwner {
  readonly scope: "key" | "project";
  /** A key's id, a project's name. */
  readonly id: string;
}

/** An API key or project with a budget. */
export interface BudgetedOwner extends BudgetOwner {
  /** Shown in messages. */
  readonly name: string;
  readonly budget: Budget;
}

/** The part of the budgets that is reserved for one request. */
export interface Reservation {
  /** The estimated cost in US dollars. Undefined where none could be estimated. */
  readonly estimate: number | undefined;
  /**
   * Settles the request. An unknown cost counts as the estimated cost: rather too much than too little.
   * `additionalCost`: cost of attempts that may have been billed in addition.
   */
  settle(cost: number | undefined, additionalCost?: number): void;
  /** Releases the reservation of a request that cannot have been billed. */
  release(): void;
}
