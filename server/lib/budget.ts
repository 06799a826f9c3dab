/** What may be spent, in US dollars, and on whose account: of a key, or of a project, which is a group of keys. */
import type { Period } from "./utc-periods.ts";

export interface Budget extends Readonly<Partial<Record<Period, number>>> {
  /** What becomes of calls that nobody knows the price of. */
  readonly unknownPrice: "allow" | "refuse";
}

/** Somebody who spends. */
export interface BudgetOwner {
  readonly scope: "key" | "project";
  /** A key's id, a project's name. */
  readonly id: string;
}

/** Somebody who may not spend more than this. */
export interface BudgetedOwner extends BudgetOwner {
  /** For people. */
  readonly name: string;
  readonly budget: Budget;
}

/** What is held of budgets for one request. */
export interface Reservation {
  /** US dollars. Undefined where nothing could be said. */
  readonly estimate: number | undefined;
  /**
   * The call is over. Of unknown cost, it counts as what was estimated: rather too much than too little. `besides`: what may have been
   * paid beside that.
   */
  settle(cost: number | undefined, besides?: number): void;
  /** Nothing was paid, and nothing can have been. */
  release(): void;
}
