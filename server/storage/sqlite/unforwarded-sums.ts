/**
 * The known and estimated cost of the rows that are not forwarded yet, by budget owner and period. The sums are in
 * memory, because budgets read them on the thread that serves requests: after an outage of the shared ledger the data
 * folder may have hundreds of thousands of rows, and a scan of them would delay every request.
 */
import type { Database } from "bun:sqlite";
import { periodNames } from "../../../contract/budget-periods.ts";
import type { BudgetOwner } from "../../../contract/limits-and-budgets.ts";
import { dayMs } from "../../lib/timers.ts";
import type { LedgerRow } from "../ports/ledger-row.ts";
import {
  type ChargedRow,
  dollarsOf,
  type OwnedRow,
  ownersOf,
  periodsOf,
  spendKey,
} from "../sql/spend-tally.ts";

/** The columns of a `ChargedRow`, for SELECT and RETURNING. */
export const chargedColumns =
  'key_id AS "keyId", project, budgets, at, cost, estimated_cost AS "estimatedCost"';

/** The rows of the same owners and day. */
interface Group extends OwnedRow, Pick<LedgerRow, "at"> {
  readonly rows: number;
  readonly dollars: number;
}

export class UnforwardedSums {
  /** A sum is deleted with its last row, so rounding errors do not add up and old days take no memory. */
  readonly #sums = new Map<string, { rows: number; dollars: number }>();
  #rows = 0;

  /** Reads all rows of the ledger, once. */
  constructor(db: Database) {
    using statement = db.prepare<Group, []>(
      `SELECT key_id AS "keyId", project, budgets, at / ${dayMs} * ${dayMs} AS at, count(*) AS rows,
         sum(coalesce(cost, 0) + coalesce(estimated_cost, 0)) AS dollars
       FROM ledger GROUP BY 1, 2, 3, 4`,
    );
    for (const group of statement.all()) this.#change(group, group.rows, group.dollars);
  }

  /** The number of rows. */
  get rows(): number {
    return this.#rows;
  }

  /** US dollars. */
  read(owner: BudgetOwner, period: string): number {
    return this.#sums.get(spendKey(owner, period))?.dollars ?? 0;
  }

  /** After the transaction that wrote the rows. */
  add(rows: readonly ChargedRow[]): void {
    for (const row of rows) this.#change(row, 1, dollarsOf(row));
  }

  /** After the transaction that deleted the rows. */
  remove(rows: readonly ChargedRow[]): void {
    for (const row of rows) this.#change(row, -1, -dollarsOf(row));
  }

  #change(charged: OwnedRow & Pick<LedgerRow, "at">, rows: number, dollars: number): void {
    this.#rows += rows;
    const names = periodNames(charged.at);
    for (const owner of ownersOf(charged)) {
      for (const period of periodsOf(owner)) {
        const id = spendKey(owner, names[period]);
        const sum = this.#sums.get(id) ?? { rows: 0, dollars: 0 };
        sum.rows += rows;
        sum.dollars += dollars;
        if (sum.rows === 0) this.#sums.delete(id);
        else this.#sums.set(id, sum);
      }
    }
  }
}
