/** The ledger in PostgreSQL: the rows of all replicas, partitioned by month. Retention drops whole months. */
import { periodNames } from "../../../contract/budget-periods.ts";
import type { BudgetOwner } from "../../../contract/limits-and-budgets.ts";
import type { LedgerRow } from "../ports/ledger-row.ts";
import { type LedgerStore, RejectedRowsError } from "../ports/ledger-store.ts";
import type { SqlValue } from "../sql/database.ts";
import { usageExtraRetentionMs } from "../sql/ledger-columns.ts";
import { spentExtraRetentionMs } from "../sqlite/spend-table.ts";
import { appendStatement } from "./append-ledger-rows.ts";
import { type PostgresDatabase, sqlState } from "./database.ts";
import { jsonParameter } from "./json-parameter.ts";
import { createMonth, dropOldestMonth, monthOf } from "./ledger-partitions.ts";

/** "No partition of relation found for row": another replica has dropped the month. */
const noPartition = "23514";
const deadlockDetected = "40P01";
const maxAttempts = 3;
/** SQLSTATE classes: data exception, integrity constraint violation. */
const rejectedStates = /^2[23]/;

/** Skips rows that another replica is deleting. The order makes PostgreSQL read an index, and not the whole table. */
const deleteOldest = (table: string, order: string, condition: string): string =>
  `DELETE FROM vexel.${table} WHERE ctid = ANY (ARRAY(
     SELECT ctid FROM vexel.${table} WHERE ${condition}
     ORDER BY ${order} LIMIT $2 FOR UPDATE SKIP LOCKED
   ))`;
const oldestUsage = deleteOldest("usage_by_hour", "hour", "hour < $1");
const oldestDailySums = deleteOldest("spent", "period", "period LIKE '____-__-__' AND period < $1");

export class PostgresLedgerStore implements LedgerStore {
  readonly #db: PostgresDatabase;
  /** Months whose table exists. */
  readonly #months = new Set<string>();

  constructor(db: PostgresDatabase) {
    this.#db = db;
  }

  async append(rows: readonly LedgerRow[]): Promise<void> {
    if (rows.length === 0) return;
    const json = jsonParameter(rows);
    for (let attempt = 1; ; attempt++) {
      await this.#createMonths(rows);
      try {
        await this.#db.query(appendStatement, [json]);
        return;
      } catch (error) {
        const state = sqlState(error);
        const isTemporary = state === noPartition || state === deadlockDetected;
        if (!isTemporary || attempt === maxAttempts) throw explained(error);
        this.#months.clear();
      }
    }
  }

  /** Drops the oldest month if all of it arrived before `before`. The rows of other months stay. */
  async prune(before: number, limit: number): Promise<boolean> {
    const isDropped = await dropOldestMonth(this.#db, before);
    this.#months.clear();
    const hasUsage = await this.#pruneOldest(oldestUsage, before - usageExtraRetentionMs, limit);
    const { day } = periodNames(before - spentExtraRetentionMs);
    const hasSums = await this.#pruneOldest(oldestDailySums, day, limit);
    return isDropped || hasUsage || hasSums;
  }

  /** True: there may be more. */
  async #pruneOldest(statement: string, before: SqlValue, limit: number): Promise<boolean> {
    const { count } = await this.#db.query(statement, [before, limit]);
    return count === limit;
  }

  /** US dollars, in the rows of all replicas. `period`: such as 2026-11-15, 2026-11 or total. */
  async sumSpent({ scope, id }: BudgetOwner, period: string): Promise<number> {
    const { rows } = await this.#db.query<{ dollars: number }>(
      "SELECT dollars FROM vexel.spent WHERE scope = $1 AND id = $2 AND period = $3",
      [scope, id, period],
    );
    return rows[0]?.dollars ?? 0;
  }

  close(): Promise<void> {
    return this.#db.close();
  }

  async #createMonths(rows: readonly LedgerRow[]): Promise<void> {
    for (const { at } of rows) {
      const month = monthOf(at);
      if (this.#months.has(month.table)) continue;
      await this.#db.transaction((db) => createMonth(db, month));
      this.#months.add(month.table);
    }
  }
}

const explained = (error: unknown): unknown =>
  error instanceof Error && rejectedStates.test(sqlState(error))
    ? new RejectedRowsError(`PostgreSQL refuses a row: ${error.message}`, { cause: error })
    : error;
