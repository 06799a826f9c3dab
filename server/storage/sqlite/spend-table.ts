/**
 * The spend table: what each key and project has spent by day, by month and in total, and by day and by month what each
 * end user and tag with a budget has spent. The table is written in the same transaction as the ledger rows, so the two
 * always agree, and it stays when old rows are pruned.
 */
import type { Statement } from "bun:sqlite";
import { periodNames } from "../../../contract/budget-periods.ts";
import type { BudgetOwner } from "../../../contract/limits-and-budgets.ts";
import { type SpendTally, spentExtraRetentionMs } from "../sql/spend-tally.ts";
import type { PreparedStatements } from "./prepared-statements.ts";

type PrimaryKey = readonly [scope: string, id: string, period: string];

export class SpendTable {
  readonly #add: Statement;
  readonly #read: Statement<{ dollars: number }, [string, string, string]>;
  readonly #sumAt: Statement<
    { scope: string; id: string; period: string },
    [...PrimaryKey, number]
  >;
  readonly #prune: Statement;
  readonly #pruneRest: Statement;
  /** The scan for days before `day`. `after`: the last sum that was examined. Undefined: all were. */
  #scan: { readonly day: string; readonly after: PrimaryKey | undefined } | undefined;

  constructor(statements: PreparedStatements) {
    this.#add = statements.prepare(
      `INSERT INTO spent VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT DO UPDATE SET dollars = dollars + excluded.dollars`,
    );
    this.#read = statements.prepare(
      "SELECT dollars FROM spent WHERE scope = ?1 AND id = ?2 AND period = ?3",
    );
    this.#sumAt = statements.prepare(
      `SELECT scope, id, period FROM spent WHERE (scope, id, period) > (?1, ?2, ?3)
       ORDER BY scope, id, period LIMIT 1 OFFSET ?4`,
    );
    const prune = `DELETE FROM spent WHERE (scope, id, period) > (?1, ?2, ?3)
      AND (period LIKE '____-__-__' OR scope IN ('end_user', 'tag')) AND period < ?4`;
    this.#prune = statements.prepare(`${prune} AND (scope, id, period) <= (?5, ?6, ?7)`);
    this.#pruneRest = statements.prepare(prune);
  }

  /** Runs inside the transaction that writes the rows. */
  add({ sums }: SpendTally): void {
    for (const { scope, id, period, dollars } of sums) this.#add.run(scope, id, period, dollars);
  }

  read({ scope, id }: BudgetOwner, period: string): number {
    return this.#read.get(scope, id, period)?.dollars ?? 0;
  }

  /**
   * Deletes days long before `before`. Months and totals of keys and projects stay. No index has the days in their
   * order, so each call examines the next `limit` sums, and all sums are examined once a day. True: there are more to
   * examine.
   */
  prune(before: number, limit: number): boolean {
    const { day } = periodNames(before - spentExtraRetentionMs);
    if (this.#scan?.day !== day) this.#scan = { day, after: ["", "", ""] };
    const { after } = this.#scan;
    if (!after) return false;
    const last = this.#sumAt.get(...after, limit - 1);
    if (last) {
      const { scope, id, period } = last;
      this.#prune.run(...after, day, scope, id, period);
      this.#scan = { day, after: [scope, id, period] };
    } else {
      this.#pruneRest.run(...after, day);
      this.#scan = { day, after: undefined };
    }
    return last !== null;
  }
}
