/**
 * The spend table: what each key and project has spent by day, by month and in total, and by day and by month what each
 * end user and tag with a budget has spent. The table is written in the same transaction as the ledger rows, so the two
 * always agree, and it stays when old rows are pruned.
 */
import type { Statement } from "bun:sqlite";
import { periodNames } from "../../../contract/budget-periods.ts";
import type { SpendKey, SpentSum } from "../ports/ledger-store.ts";
import { expiringSums, type SpendTally, spentExtraRetentionMs } from "../sql/spend-tally.ts";
import type { PreparedStatements } from "./prepared-statements.ts";

/** Deletes the oldest sums before `?1`, at most `?2`. SQLite would not choose the index by itself. */
const deletion = ({ index, condition }: (typeof expiringSums)[number]): string =>
  `DELETE FROM spent WHERE (scope, id, period) IN
    (SELECT scope, id, period FROM spent INDEXED BY ${index}
     WHERE ${condition} AND period < ?1 ORDER BY period LIMIT ?2)`;

type Nanos = Pick<SpentSum, "nanos">;

export class SpendTable {
  readonly #add: Statement<Nanos, [string, string, string, number]>;
  readonly #read: Statement<Nanos, [string, string, string]>;
  readonly #prune: readonly Statement[];

  constructor(statements: PreparedStatements) {
    this.#add = statements.prepare(
      `INSERT INTO spent VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT DO UPDATE SET nanos = nanos + excluded.nanos RETURNING nanos`,
    );
    this.#read = statements.prepare(
      "SELECT nanos FROM spent WHERE scope = ?1 AND id = ?2 AND period = ?3",
    );
    this.#prune = expiringSums.map((sums) => statements.prepare(deletion(sums)));
  }

  /** Runs inside the transaction that writes the rows. Returns the new sums. */
  add({ sums }: SpendTally): SpentSum[] {
    return Array.from(sums, ({ scope, id, period, nanos }) => ({
      scope,
      id,
      period,
      nanos: this.#add.get(scope, id, period, nanos)?.nanos ?? nanos,
    }));
  }

  read({ scope, id, period }: SpendKey): number {
    return this.#read.get(scope, id, period)?.nanos ?? 0;
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
