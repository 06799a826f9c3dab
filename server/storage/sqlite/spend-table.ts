/**
 * The spend table: what each key and project has spent by day, by month and in total, and by day and by month what each
 * end user and tag with a budget has spent. The table is written in the same transaction as the ledger rows, so the two
 * always agree, and it stays when old rows are pruned.
 */
import type { Statement } from "bun:sqlite";
import { periodNames } from "../../../contract/budget-periods.ts";
import type { BudgetOwner } from "../../../contract/limits-and-budgets.ts";
import { expiringSums, type SpendTally, spentExtraRetentionMs } from "../sql/spend-tally.ts";
import type { PreparedStatements } from "./prepared-statements.ts";

/** Deletes the oldest sums before `?1`, at most `?2`. SQLite would not choose the index by itself. */
const deletion = ({ index, condition }: (typeof expiringSums)[number]): string =>
  `DELETE FROM spent WHERE (scope, id, period) IN
    (SELECT scope, id, period FROM spent INDEXED BY ${index}
     WHERE ${condition} AND period < ?1 ORDER BY period LIMIT ?2)`;

export class SpendTable {
  readonly #add: Statement;
  readonly #read: Statement<{ dollars: number }, [string, string, string]>;
  readonly #prune: readonly Statement[];

  constructor(statements: PreparedStatements) {
    this.#add = statements.prepare(
      `INSERT INTO spent VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT DO UPDATE SET dollars = dollars + excluded.dollars`,
    );
    this.#read = statements.prepare(
      "SELECT dollars FROM spent WHERE scope = ?1 AND id = ?2 AND period = ?3",
    );
    this.#prune = expiringSums.map((sums) => statements.prepare(deletion(sums)));
  }

  /** Runs inside the transaction that writes the rows. */
  add({ sums }: SpendTally): void {
    for (const { scope, id, period, dollars } of sums) this.#add.run(scope, id, period, dollars);
  }

  read({ scope, id }: BudgetOwner, period: string): number {
    return this.#read.get(scope, id, period)?.dollars ?? 0;
  }

  /** Deletes at most `limit` sums long before `before`. Months and totals of keys and projects stay. Returns how many. */
  prune(before: number, limit: number): number {
    const { day } = periodNames(before - spentExtraRetentionMs);
    let pruned = 0;
    for (const prune of this.#prune) {
      if (pruned < limit) pruned += prune.run(day, limit - pruned).changes;
    }
    return pruned;
  }
}
