/** The ledger store: one row per request, and what budget owners have spent. */
import type { BudgetOwner } from "../../../contract/limits-and-budgets.ts";
import type { LedgerRow } from "./ledger-row.ts";

/** The store refuses the values of at least one of the rows: the same rows would be refused again. */
export class RejectedRowsError extends Error {
  override readonly name = "RejectedRowsError";
}

/** A budget owner in a period such as 2026-11-15, 2026-11 or total. */
export interface SpendKey extends BudgetOwner {
  readonly period: string;
}

/** What an owner has spent in a period, in nano-dollars. */
export interface SpentSum extends SpendKey {
  readonly nanos: number;
}

export interface LedgerStore {
  /**
   * Stores all rows or none. A row whose request id is stored already is ignored, so rows may be appended again. In the
   * same transaction, the rows that were stored are added to the sums of their owners. Returns the new sums of the
   * owners of all these rows. May reject with RejectedRowsError.
   */
  append(rows: readonly LedgerRow[]): Promise<readonly SpentSum[]>;
  /**
   * One step of pruning: deletes rows that arrived before `before` (Unix milliseconds), the oldest first, and roll-ups
   * and daily sums that are older still. A step deletes at most `limit` rows of all tables. True: there may be more. A
   * store with a table per day drops the oldest day as a whole, once all of it is older than `before`.
   */
  prune(before: number, limit: number): Promise<boolean>;
  close(): Promise<void>;
}
