/** The ledger in PostgreSQL: the rows of all replicas, partitioned by day. Retention drops whole days. */
import { periodNames } from "../../../contract/budget-periods.ts";
import { dayMs } from "../../lib/timers.ts";
import type { LedgerRow } from "../ports/ledger-row.ts";
import { type LedgerStore, RejectedRowsError, type SpentSum } from "../ports/ledger-store.ts";
import type { SqlValue } from "../sql/database.ts";
import { usageExtraRetentionMs } from "../sql/ledger-columns.ts";
import { rollUps } from "../sql/roll-ups.ts";
import { expiringSums, spentExtraRetentionMs } from "../sql/spend-tally.ts";
import { appendLedgerRows } from "./append-ledger-rows.ts";
import { deadlockDetected, type PostgresDatabase, sqlState } from "./database.ts";
import { createDay, dayOf, dropDay, listDays } from "./ledger-partitions.ts";
import { rollUpLedger } from "./roll-up-ledger.ts";

/** "No partition of relation found for row": another replica has dropped the day. */
const noPartition = "23514";
const maxAttempts = 3;
/** SQLSTATE classes: data exception, integrity constraint violation. */
const rejectedStates = /^2[23]/;

/** Skips rows that another replica is deleting. The order makes PostgreSQL read an index, and not the whole table. */
const deleteOldest = (table: string, order: string, condition: string): string =>
  `DELETE FROM vexel.${table} WHERE ctid = ANY (ARRAY(
     SELECT ctid FROM vexel.${table} WHERE ${condition}
     ORDER BY ${order} LIMIT $2 FOR UPDATE SKIP LOCKED
   ))`;
const oldestUsage = Object.values(rollUps).map(({ table, start }) =>
  deleteOldest(table, start, `${start} < $1`),
);
const oldestSums = expiringSums.map(({ condition }) =>
  deleteOldest("spent", "period", `${condition} AND period < $1`),
);

export class PostgresLedgerStore implements LedgerStore {
  readonly #db: PostgresDatabase;
  /** Days whose table exists. */
  readonly #days = new Set<string>();

  constructor(db: PostgresDatabase) {
    this.#db = db;
  }

  async append(rows: readonly LedgerRow[]): Promise<readonly SpentSum[]> {
    if (rows.length === 0) return [];
    const times = rows.map(({ at }) => at);
    for (let attempt = 1; ; attempt++) {
      await this.#createDays(times);
      try {
        return await appendLedgerRows(this.#db, rows);
      } catch (error) {
        const state = sqlState(error);
        const isTemporary = state === noPartition || state === deadlockDetected;
        if (!isTemporary || attempt === maxAttempts) throw explained(error);
        this.#days.clear();
      }
    }
  }

  /**
   * Adds the appended rows to the roll-ups if some were appended more than `olderThanMs` ago. Queries count the others,
   * too.
   */
  rollUp(olderThanMs = 0): Promise<void> {
    return rollUpLedger(this.#db, olderThanMs);
  }

  /** Drops the oldest day if all of it arrived before `before`. The rows of other days stay. */
  async prune(before: number, limit: number): Promise<boolean> {
    const isDropped = await this.#dropOldestDay(before);
    const usageBefore = before - usageExtraRetentionMs;
    let hasMore = isDropped;
    for (const statement of oldestUsage) {
      const isFull = await this.#pruneOldest(statement, usageBefore - (usageBefore % dayMs), limit);
      hasMore ||= isFull;
    }
    const { day } = periodNames(before - spentExtraRetentionMs);
    for (const statement of oldestSums) {
      const isFull = await this.#pruneOldest(statement, day, limit);
      hasMore ||= isFull;
    }
    return hasMore;
  }

  async #dropOldestDay(before: number): Promise<boolean> {
    const [oldest] = await listDays(this.#db);
    if (!oldest || oldest.to > before) return false;
    this.#days.clear();
    await this.rollUp();
    return dropDay(this.#db, oldest);
  }

  /** True: there may be more. */
  async #pruneOldest(statement: string, before: SqlValue, limit: number): Promise<boolean> {
    const { count } = await this.#db.query(statement, [before, limit]);
    return count === limit;
  }

  close(): Promise<void> {
    return this.#db.close();
  }

  async #createDays(times: readonly number[]): Promise<void> {
    for (const at of times) {
      const day = dayOf(at);
      if (this.#days.has(day.table)) continue;
      await this.#db.transaction((db) => createDay(db, day));
      this.#days.add(day.table);
    }
  }
}

const explained = (error: unknown): unknown =>
  error instanceof Error && rejectedStates.test(sqlState(error))
    ? new RejectedRowsError(`PostgreSQL refuses a row: ${error.message}`, { cause: error })
    : error;
